import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openAiError } from "../../../local/openai-wire/openai-error.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import { duePartition } from "../../../shared/session/state.ts";
import { set } from "../../../shared/world/expression.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { channelsOf, type Platform, platformStarts } from "../../support/platforms/platforms.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let platforms: Platform[];
/** What the model waits for before it answers a message that holds "wait". */
let gate: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => answerTo(turns.at(-1)?.text ?? ""));
  platforms = await Promise.all(Object.values(platformStarts).map((start) => start()));
  // An agent for every platform waits at the same time.
  stack = await startStack({ maxInstances: platforms.length });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "session.dmScope": "per-channel-peer",
    channels: channelsOf(platforms, { dmPolicy: "open" }),
  });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  await model?.close();
  for (const platform of platforms ?? []) await platform.close();
});

/** The model does as the newest message says. Messages without an answer stand before it in the same turn. */
async function answerTo(text: string): Promise<Reply> {
  const newest = text.split(/\n(?=\[\w+ · )/).at(-1) ?? "";
  const [envelope = "", said = ""] = newest.split("\n");
  if (said.includes("wait")) await gate;
  const [, length] = /say (\d+) letters/.exec(said) ?? [];
  if (length) return { text: paragraphs(Number(length)) };
  if (said.includes("fail")) return { error: { status: 400, body: openAiError(fault) } };
  return { text: `${envelope} said: ${said}` };
}

const fault = { message: "the model is\nnot here", type: "invalid_request_error" };

/** Of 500 characters each, with a letter of their own. */
function paragraphs(length: number): string {
  const letters = Array.from({ length: length / 500 }, (_, i) => String.fromCharCode(97 + (i % 26)));
  return letters.map((letter) => letter.repeat(498)).join("\n\n");
}

const names = Object.keys(platformStarts) as (keyof typeof platformStarts)[];

describe.each(names)("%s, over the bundles", (name) => {
  let platform: Platform;
  let before: number;
  const answers = () => platform.answers().slice(before);
  const areAnswered = (count: number) =>
    until(() => answers().length >= count, `${name} has ${count} answers`);
  const deliver = async (event: object) => (await platform.deliver(stack.cloud.webhook, event)).status;
  const asked = () => model.requests.length;
  const logged = (event: string) =>
    stack.logs.filter((line) => line.event === event && line.channel === name);

  beforeEach(() => {
    platform = platforms.find((one) => one.name === name)!;
    before = platform.answers().length;
  });

  it("has a text answered, which the model sees behind its envelope, and shows that it was read", async () => {
    const [shown, left] = [platform.typing?.() ?? 0, platform.awaiting()];
    expect(await deliver(platform.direct("hello"))).toBe(200);
    await areAnswered(1);
    expect(answers()[0]).toMatch(
      new RegExp(`^\\[${name} · \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d\\] said: hello$`),
    );
    if (platform.typing) expect(platform.typing()).toBeGreaterThan(shown);
    expect(platform.awaiting()).toBe(left);
  });

  it("is told that its event was taken long before the model has answered, and a command is answered meanwhile", async () => {
    let open = () => {};
    gate = new Promise<void>((resolve) => (open = resolve));
    const event = platform.direct("wait, then say yes");
    expect(await deliver(event)).toBe(200);
    expect(answers()).toEqual([]);
    expect(await deliver(platform.direct("/think low"))).toBe(200);
    await areAnswered(1);
    expect(answers()).toEqual(["Thinking level set to low"]);
    open();
    await areAnswered(2);
    expect(answers()).toContainEqual(expect.stringContaining("said: wait, then say yes"));
  });

  it("has a long answer brought in parts, each as long as it takes and in order", async () => {
    const length = Math.ceil((platform.maxText * 2.2) / 500) * 500;
    expect(await deliver(platform.direct(`say ${length} letters`))).toBe(200);
    await areAnswered(3);
    expect(answers()).toHaveLength(3);
    expect(answers().every((part) => part.length <= platform.maxText)).toBe(true);
    expect(answers().join("\n\n")).toBe(paragraphs(length).trim());
  });

  it("may turn an answer away: that is logged with its reason, and the next one is delivered", async () => {
    platform.refuse("never");
    expect(await deliver(platform.direct("hello"))).toBe(200);
    await until(() => logged("channel.undelivered").length > 0, "the answer is given up");
    const reason = expect.stringContaining(platform.neverReason);
    expect(logged("channel.undelivered")).toMatchObject([{ reason }]);
    expect(answers()).toEqual([]);
    expect(await deliver(platform.direct("and now?"))).toBe(200);
    await areAnswered(1);
  });

  it("tells in one line that a turn has failed, and no longer that an answer is being written", async () => {
    const left = platform.awaiting();
    expect(await deliver(platform.direct("fail"))).toBe(200);
    await areAnswered(1);
    expect(answers()).toEqual([
      expect.stringMatching(/^Sorry, that failed: .*provider failed \(\d+\); .* \(\w+:default:.+\)$/),
    ]);
    expect(platform.awaiting()).toBe(left);
  });

  it("may deliver an event five times at once and again later: it is one message, and one answer", async () => {
    const already = asked();
    const event = platform.direct("hello");
    const five = () => Promise.all(Array.from({ length: 5 }, () => deliver(event)));
    expect(await five()).toEqual(Array(5).fill(200));
    await areAnswered(1);
    expect(await five()).toEqual(Array(5).fill(200));
    // Whatever those might have led to would come ahead of this.
    expect(await deliver(platform.direct("the next"))).toBe(200);
    await areAnswered(2);
    expect(answers()).toEqual([
      expect.stringMatching(/said: hello$/),
      expect.stringMatching(/said: the next$/),
    ]);
    expect(asked() - already).toBe(2);
  });

  it("in a room has an answer to what is said to the agent, and to nothing else", async () => {
    if (!platform.inRoom) return;
    const already = asked();
    for (const aside of platform.aside ? ["hello", "/status"] : [])
      expect(await deliver(platform.aside!(aside))).toBe(200);
    expect(await deliver(platform.inRoom("hello"))).toBe(200);
    await areAnswered(1);
    expect(answers()).toHaveLength(1);
    expect(answers()[0]).toContain("said: ");
    expect(asked() - already).toBe(1);
    await expect.poll(() => readSession(stack.table, platform.room!)).toMatchObject({ head: 2 });
  });
});

it("a platform is waited for when it asks for it, and tried again after a fault of its own", async () => {
  const retries = (name: string) =>
    stack.logs.filter((line) => line.event === "channel.retry" && line.channel === name);
  const delivered = platforms.map(async (platform) => {
    const before = platform.answers().length;
    platform.refuse("busy", "down");
    await platform.deliver(stack.cloud.webhook, platform.direct("hello"));
    await until(() => platform.answers().length > before, `${platform.name} has an answer`);
    const waits = retries(platform.name).map(({ waitMs }) => waitMs);
    expect(waits, platform.name).toEqual([1000, 2000]);
  });
  await Promise.all(delivered);
});

it("what was stopped has no answer, and nobody is shown to be waiting for one", async () => {
  let open = () => {};
  gate = new Promise<void>((resolve) => (open = resolve));
  for (const platform of platforms) platform.forget();
  const deliver = async (text: string) => {
    for (const platform of platforms) await platform.deliver(stack.cloud.webhook, platform.direct(text));
  };
  await deliver("wait");
  await until(() => model.active() === platforms.length, "the model is asked for every platform");
  await deliver("/stop");
  const stopped = () => stack.logs.filter(({ event }) => event === "run.stopped").length;
  await until(() => stopped() === platforms.length, "every run has been stopped");
  open();
  await deliver("the next");
  const said = (platform: Platform) => platform.answers().map((answer) => answer.replace(/^\[.*\] /, ""));
  await until(() => platforms.every((one) => said(one).includes("said: the next")), "all are answered");
  for (const platform of platforms) {
    const shown = platform.name === "discord" ? ["Stopped."] : [];
    const replies = [expect.stringMatching(/^Stopped run /), "said: the next"];
    expect(said(platform), platform.name).toEqual([...shown, ...replies]);
    expect(platform.awaiting()).toBe(0);
  }
});

it("an answer that kill -9 interrupted comes once, and so does what was said meanwhile", async () => {
  let open = () => {};
  gate = new Promise<void>((resolve) => (open = resolve));
  for (const platform of platforms) platform.forget();
  const deliver = (platform: Platform, text: string) =>
    platform.deliver(stack.cloud.webhook, platform.direct(text));
  for (const platform of platforms) expect((await deliver(platform, "wait")).status).toBe(200);
  await until(() => model.active() === platforms.length, "the model is asked for every platform");
  stack.host.kill();
  await until(() => stack.host.instances() === 0, "nothing runs");
  for (const platform of platforms) expect((await deliver(platform, "and this")).status).toBe(200);
  // The leases of the dead would run out in half a minute, and the sweep comes once a minute.
  const held = await stack.table.queryIndex({ index: "due", pk: duePartition });
  await Promise.all(
    held.map(({ pk }) => stack.table.update({ pk: String(pk), sk: "META" }, [set("leaseUntil", 1)])),
  );
  await stack.cloud.fire("timer", { kind: "sweep" });
  open();
  await until(() => platforms.every((platform) => platform.answers().length >= 2), "all are answered");
  for (const platform of platforms)
    expect(
      platform.answers().map((answer) => answer.split("] ")[1]),
      platform.name,
    ).toEqual(["said: wait", "said: and this"]);
});
