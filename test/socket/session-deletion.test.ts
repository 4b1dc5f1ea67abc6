import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { beforeEach, expect, it } from "vitest";
import { deleteConversation, deleteSession } from "../../functions/socket/session-deletion.ts";
import { storeText } from "../../shared/objects/text-store.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { openRecall } from "../../shared/recall/recall.ts";
import { queueExtraction } from "../../shared/session/extraction.ts";
import { readPreviousIds } from "../../shared/session/previous-ids.ts";
import { listSessions, readSession } from "../../shared/session/sessions.ts";
import { metaKey, resultKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { type Bench, immortal, type Life, mortal, openBench } from "../agent/bench.ts";
import { type MemoryState, startState } from "../support/state.ts";

const holidays = "agent:main:holidays";
const main = "agent:main:main";
const marker = "Tromsø";
const photo = `media/${holidays}/0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11.png`;
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

let state: MemoryState;
let bench: Bench;
let ended: string;

/** A question and its answer, which was made from a prompt. */
const said = (text: string, prompt: string): Message[] =>
  [
    { role: "user", content: text, timestamp: 1 },
    {
      ...{ role: "assistant", content: [{ type: "text", text: `About ${text}` }], stopReason: "stop" },
      ...{ context: { prompt: hashOf(prompt) }, timestamp: 2 },
    },
  ] as unknown as Message[];

/** Two sessions with an ended and a live conversation each. They share a prompt. */
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "anthropic", id: "m" });
  bench.configuration.compaction.extractMemories = false;
  for (const prompt of ["shared", `about ${marker}`, `now ${marker}`])
    await storeText(state.bucket, "main", { hash: hashOf(prompt), text: prompt });
  await bench.seed(main, said("tea", "shared"));
  const first = [...said(`${marker} in June`, "shared"), ...said(`${marker} again`, `about ${marker}`)];
  await bench.seed(holidays, first);
  ended = (await bench.state(holidays)).sessionId;
  const asked = { origin: { kind: "client" }, kind: "reset", via: "method" } as const;
  await bench.submit(holidays, { id: "new", at: 0, ...asked });
  await bench.invoke(holidays);
  await state.bucket.put(photo, marker);
  const large = `${marker} ${"x".repeat(310_000)}`;
  await bench.seed(holidays, [...said(`see [image ${photo}]`, `now ${marker}`), ...said(large, "shared")]);
  await state.table.put({ ...resultKey(holidays, "run", 1, "call"), body: marker });
  await state.table.put({ pk: metaKey(holidays).pk, sk: "COMPACTION", at: 1, body: marker });
  const from = { sessionKey: holidays, sessionId: ended, archive: "a", queuedAt: 1, at: 1 };
  await queueExtraction(state.table, from, 1);
  await state.table.update({ pk: "EXTRACT#main", sk: `${holidays}#1` }, [set("memories", marker)]);
});

/** The stores of a process, a minute after the last message. */
const deleting = ({ table, bucket }: MemoryState, life: Life = immortal()) => ({
  table: mortal(table, "table", life),
  bucket: mortal(bucket, "bucket", life),
  wake: async () => {},
  now: () => Date.now() + bench.later + 120_000,
});

/** All that is stored, as text. The bucket's large gzip files are inflated. */
async function everything({ objects, bucket, items }: MemoryState): Promise<string[]> {
  const bodies = objects.keys().map(async (key) => {
    const bytes = Buffer.from((await bucket.get(key))!.body);
    return `${key} ${bytes[0] === 0x1f ? gunzipSync(bytes) : bytes}`;
  });
  return [...(await Promise.all(bodies)), ...items().map((item) => JSON.stringify(item))];
}

const mentions = async (where: MemoryState) =>
  (await everything(where)).filter((text) => text.includes(marker)).length;

it("a deleted session leaves no word in the table and the bucket, wherever the deletion died before", async () => {
  const whole: Life = immortal();
  const copy = state.copy();
  expect(await mentions(copy)).toBeGreaterThan(8);
  await deleteSession(deleting(copy, whole), holidays);
  expect(await mentions(copy)).toBe(0);
  const others = (await everything(copy)).filter((text) => text.includes("tea"));
  expect(others.length).toBeGreaterThan(0);
  for (let left = 0; left < whole.calls.length; left++) {
    const dying = state.copy();
    await expect(deleteSession(deleting(dying, { left, calls: [] }), holidays)).rejects.toThrow();
    bench.later += 60_000;
    await deleteSession(deleting(dying), holidays);
    expect([left, await mentions(dying)]).toEqual([left, 0]);
    expect((await everything(dying)).filter((text) => text.includes("tea"))).toHaveLength(others.length);
  }
});

it("a deleted session is in no list and has no history; its next message begins it again", async () => {
  await deleteSession(deleting(state), holidays);
  expect((await listSessions(state.table, 0, 9)).map(({ sessionKey }) => sessionKey)).toEqual([main]);
  const session = (await readSession(state.table, holidays))!;
  expect(session).toMatchObject({ head: 0, inbox: [], settings: {} });
  expect(await readPreviousIds(state.table, session)).toEqual([]);
  await bench.seed(holidays, said("tea again", "shared"));
  expect(await bench.live(holidays)).toHaveLength(2);
  expect((await bench.state(holidays)).epoch).toBeGreaterThan(session.epoch);
});

it("a deleted conversation is gone, and the others of its session stay", async () => {
  const { sessionIds } = await deleteConversation(deleting(state), holidays, ended);
  expect(sessionIds).toEqual([ended]);
  const left = await everything(state);
  expect(left.filter((text) => text.includes(`${marker} in June`))).toEqual([]);
  expect(left.filter((text) => text.includes(ended))).toEqual([]);
  expect(
    state.objects
      .keys()
      .filter((key) => key.startsWith("agents/main/objects/"))
      .sort(),
  ).toEqual(["shared", `now ${marker}`].map((text) => `agents/main/objects/${hashOf(text)}`).sort());
  expect(await bench.live(holidays)).toHaveLength(4);
});

it("a deleted conversation keeps the prompt that its session records as stored", async () => {
  await state.table.update(metaKey(holidays), [set("promptHash", hashOf(`about ${marker}`).slice(0, 12))]);
  await deleteConversation(deleting(state), holidays, ended);
  expect(state.objects.keys()).toContain(`agents/main/objects/${hashOf(`about ${marker}`)}`);
});

it("the current conversation, an unknown one and one of another session are refused", async () => {
  const { sessionId } = await bench.state(holidays);
  const deleteOne = (key: string, id: string) => deleteConversation(deleting(state), key, id);
  await expect(deleteOne(holidays, sessionId)).rejects.toMatchObject({ code: 409 });
  await expect(deleteOne(holidays, "nosuch")).rejects.toMatchObject({ code: 404 });
  await expect(deleteOne(main, ended)).rejects.toMatchObject({ code: 404 });
  await expect(deleteSession(deleting(state), "agent:main:nosuch")).rejects.toMatchObject({ code: 404 });
  expect(await mentions(state)).toBeGreaterThan(8);
});

it("a session that works, or has a message waiting, is not deleted", async () => {
  const message = { origin: { kind: "client" }, kind: "message", text: "hello" } as const;
  await bench.submit(holidays, { id: "m1", at: 0, ...message } as never);
  await expect(deleteSession(deleting(state), holidays)).rejects.toMatchObject({ code: 409 });
  expect((await bench.state(holidays)).inbox).toHaveLength(1);
});

it("a search finds no segment whose archive was removed by hand, and removes it", async () => {
  const recall = openRecall(state);
  const scope = { agentId: "main", sessionKey: holidays, all: true, timezone: "UTC" };
  const find = async () =>
    (await recall.search(scope, { question: `${marker} June`, limit: 9 } as never)).found;
  const isOld = (one: Awaited<ReturnType<typeof find>>[number]) => one.turn.conversation.sessionId === ended;
  expect((await find()).filter(isOld).length).toBeGreaterThan(0);
  await state.bucket.delete(`agents/main/sessions/${ended}.jsonl.gz`);
  expect((await find()).filter(isOld)).toEqual([]);
  expect(
    (await everything(state)).filter((text) => text.includes(ended) && text.includes("/recall/")),
  ).toEqual([]);
});
