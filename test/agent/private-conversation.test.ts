import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openRecall } from "../../shared/recall/recall.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { isReading } from "../support/models/model-window.ts";
import { lastActivity, message, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start());
beforeEach(() => {
  resets.renew();
  resets.reply = (request) =>
    isReading(request)
      ? { text: "<summary>A secret.</summary><memories>- narwhal</memories>" }
      : { text: "about the narwhal" };
});
afterAll(() => resets.close());

const begin = (): InboxEntry => ({
  ...reset("command", lastActivity),
  kind: "reset",
  via: "command",
  private: true,
});

/** `/private`, and a message with an answer. */
async function talkPrivately(): Promise<void> {
  await resets.submit(begin());
  await resets.invoke(lastActivity);
  await resets.submit(message("tell me about narwhals", lastActivity + 1000));
  await resets.invoke(lastActivity + 1000);
}

/** The texts of all objects of the agent. */
async function stored(): Promise<string> {
  const keys = await resets.keysUnder(`agents/${resets.agentId}/`);
  const bodies = keys.map(async (key) => {
    const bytes = Buffer.from((await resets.state.bucket.get(key))!.body);
    return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString();
  });
  return (await Promise.all(bodies)).join("\n");
}

it("a private conversation says that it is one, to the user and to the model", async () => {
  await talkPrivately();
  expect(resets.responses()[0]).toMatchObject({
    response: expect.stringContaining("This conversation is private"),
  });
  expect(resets.model.requests.at(-1)?.system).toContain("This conversation is private");
  expect((await resets.current()).private).toBe(true);
});

it("a reset by hand or by policy deletes it without an archive, a segment or a memory, and the next one is not private", async () => {
  for (const via of ["command", "policy"] as const) {
    resets.newSession();
    await talkPrivately();
    const { sessionId } = await resets.current();
    if (via === "command") await resets.submit({ ...reset(via, nextDay), id: "end" });
    else await resets.submit(message("good morning", nextDay));
    await resets.invoke(nextDay);
    expect((await resets.current()).sessionId).not.toBe(sessionId);
    expect((await resets.current()).private).toBeUndefined();
    expect(await stored()).not.toContain("narwhal");
    expect(await resets.bench.items(resets.key)).not.toContainEqual(
      expect.objectContaining({ sk: expect.stringContaining(sessionId) }),
    );
    expect(resets.model.requests.filter(isReading)).toEqual([]);
  }
});

it("a compaction of it archives nothing and asks for no memories", async () => {
  await talkPrivately();
  for (let n = 0; n < 6; n++) {
    const at = lastActivity + 2000 + n * 1000;
    await resets.submit(message(`and ${"more ".repeat(400)}${n}`, at));
    await resets.invoke(at);
  }
  await resets.submit({ ...reset("command", nextDay), id: "c", kind: "compact", keep: 2, via: "command" });
  await resets.invoke(nextDay);
  expect((await resets.live())[0]).toMatchObject({ content: expect.stringContaining("A secret.") });
  expect(await stored()).not.toContain("narwhal");
});

it("no other conversation finds it", async () => {
  await talkPrivately();
  const recall = openRecall(resets.state);
  const scope = { agentId: resets.agentId, all: true, timezone: "UTC" };
  const { found } = await recall.search(scope, { question: "narwhals", limit: 9, preview: 100 });
  expect(found).toEqual([]);
});
