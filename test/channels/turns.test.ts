import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { readSession } from "../../shared/session/sessions.ts";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { startTurnBench, type TurnBench } from "./turn-bench.ts";

describe.each(platformNames)("%s, from the webhook to the answer", (name) => {
  let platform: Platform;
  let bench: TurnBench;
  let lines: Record<string, unknown>[];

  beforeAll(async () => {
    vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(JSON.parse(String(line))) > 0);
    ({ platform, bench } = await startTurnBench(name));
  });
  beforeEach(() => {
    lines = [];
    bench.renew();
    bench.reply = { text: "hello" };
  });
  afterAll(() => bench.close());

  /** An event is accepted, and the agent processes it. */
  async function answer(event: object): Promise<void> {
    expect(await bench.deliver(event)).toBe(true);
    await bench.runAgents();
  }
  const logged = (event: string) => lines.filter((line) => line.event === event);

  it("delivers a long answer in parts of the maximum length, in order", async () => {
    const count = Math.ceil((platform.maxText * 2.2) / 500);
    const paragraphs = Array.from({ length: count }, (_, i) =>
      String.fromCharCode(97 + (i % 26)).repeat(498),
    );
    bench.reply = { text: paragraphs.join("\n\n") };
    await answer(platform.direct("hello"));
    expect(platform.answers()).toHaveLength(3);
    expect(platform.answers().every((part) => part.length <= platform.maxText)).toBe(true);
    expect(platform.answers().join("\n\n")).toBe(paragraphs.join("\n\n"));
  });

  it("delivers an answer of more than four parts as its beginning and a file with all of it", async () => {
    const words = Array.from({ length: platform.maxText }, (_, i) => `word${i}`);
    const text = `**${words.slice(0, 20).join(" ")}** ünd\n\n${words.slice(20).join(" ")}`;
    bench.reply = { text };
    await answer(platform.direct("hello"));
    expect(platform.answers()).toHaveLength(3);
    const shown = platform
      .answers()
      .join(" ")
      .match(/word\d+/g);
    expect(shown).toEqual(words.slice(0, shown?.length));
    const [file, ...more] = platform.received();
    expect([file?.name, more]).toEqual(["answer.md", []]);
    expect(Buffer.from(await file!.arrayBuffer()).toString()).toBe(text);
  });

  it("may refuse an answer: that is logged with its reason, and the next one is delivered", async () => {
    platform.refuse("never");
    await answer(platform.direct("hello"));
    const reason = expect.stringContaining(platform.neverReason);
    expect(logged("channel.undelivered")).toMatchObject([{ channel: name, reason }]);
    expect(platform.answers()).toEqual([]);
    await answer(platform.direct("and now?"));
    expect(platform.answers()).toContain("hello");
  });

  it("gets the wait that it asks for, and a retry after a fault of its own", async () => {
    platform.refuse("busy", "down");
    await answer(platform.direct("hello"));
    expect(logged("channel.retry").map(({ waitMs }) => waitMs)).toEqual([1000, 2000]);
    expect(platform.answers()).toEqual(["hello"]);
  });

  it("shows a typing indicator, which ends when a turn has failed", async () => {
    bench.reply = { error: "no model is to be had" };
    const shown = platform.typing?.() ?? 0;
    expect(await bench.deliver(platform.direct("hello"))).toBe(true);
    if (platform.typing) expect(platform.typing()).toBeGreaterThan(shown);
    expect(platform.awaiting()).toBe(name === "discord" ? 1 : 0);
    await bench.runAgents();
    expect(platform.answers()).toEqual([expect.stringMatching(/^Sorry, that failed: no model/)]);
    expect(platform.awaiting()).toBe(0);
  });

  it("gets no answer that was stopped, and shows no pending one", async () => {
    const stop = () => bench.deliver(platform.direct("/stop"));
    bench.reply = { text: "hello", meanwhile: stop };
    await answer(platform.direct("hello"));
    bench.reply = { text: "hello again" };
    await answer(platform.direct("and now?"));
    const shown = name === "discord" ? ["Stopped."] : [];
    expect(platform.answers()).toEqual([...shown, expect.stringMatching(/^Stopped run /), "hello again"]);
    expect(platform.awaiting()).toBe(0);
  });

  it("gets no answer to a message of somebody who is no longer an owner when the model has answered", async () => {
    const meanwhile = async () => bench.configure({ dmPolicy: "open", owners: [] });
    bench.reply = { text: "a secret", meanwhile };
    await answer(platform.direct("hello"));
    expect([platform.answers(), bench.asked]).toEqual([[], 1]);
    expect(logged("channel.undelivered")).toMatchObject([{ reason: "the sender is no longer an owner" }]);
    bench.configure({ dmPolicy: "open", owners: Object.values(platform.people) });
  });

  it("in a room gets an answer only to messages to the agent", async () => {
    if (!platform.inRoom) return;
    for (const aside of platform.aside ? ["hello", "/status"] : []) await answer(platform.aside!(aside));
    expect([platform.answers(), bench.asked]).toEqual([[], 0]);
    await answer(platform.inRoom("hello"));
    expect([platform.answers(), bench.asked]).toEqual([["hello"], 1]);
    expect(await readSession(bench.table, platform.room!)).toMatchObject({ head: 2 });
  });
});
