import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import type { SessionStore } from "../../shared/session/bodies.ts";
import { putIntent, putOutcome, readOutcomes, settleIntent } from "../../shared/session/calls.ts";
import { appendEntry, maxEntryBytes } from "../../shared/session/inbox.ts";
import { LeaseLost } from "../../shared/session/lease.ts";
import { messageKey, metaKey, resultKey } from "../../shared/session/state.ts";
import { deleteMessages, readMessages, writeMessages } from "../../shared/session/transcript.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";
import { type State, startState } from "../support/state.ts";

const sessionKey = "agent:main:main";
const sessionId = "b1946ac9-2492-4d1f-8b4e-000000000001";
const prefix = `agents/main/sessions/${sessionId}/messages/`;

let state: State;
let bucket: MemoryBucket;
let store: SessionStore;

beforeAll(async () => {
  state = await startState();
  bucket = createMemoryBucket();
  store = { table: state.table, bucket };
});
afterAll(() => state.close());
beforeEach(() => bucket.resetCounters());

const user = (content: string): Message => ({ role: "user", content, timestamp: 1 });
const at = (epoch: number) => ({ sessionKey, epoch });
const upTo = (head: number) => ({ sessionKey, sessionId, first: 1, head });

describe("a message above 300 KB", () => {
  it("is stored in the bucket with a reference in its item, and is read like any other", async () => {
    const messages = [user("before"), user("ü".repeat(2_500_000)), user("after")];
    await writeMessages(store, at(3), sessionId, 1, messages);
    expect(bucket.requests).toEqual([{ operation: "put", key: `${prefix}0000000002-3.json` }]);
    const item = await state.table.get(messageKey(sessionKey, sessionId, 2));
    expect(item).toMatchObject({ epoch: 3, bodyKey: `${prefix}0000000002-3.json` });
    expect(item?.bodyBytes).toBeGreaterThan(5_000_000);
    expect(await readMessages(store, upTo(3))).toEqual(messages);
  });

  it("is deleted with its message", async () => {
    await deleteMessages(store, sessionKey, sessionId, 1, 3);
    expect(bucket.keys()).toEqual([]);
    expect(await readMessages(store, upTo(3))).toEqual([]);
  });

  it("cannot be changed by a holder that has lost the session", async () => {
    const committed = user("a".repeat(400_000));
    await writeMessages(store, at(5), sessionId, 1, [committed]);
    const late = writeMessages(store, at(4), sessionId, 1, [user("b".repeat(400_000))]);
    await expect(late).rejects.toThrow(LeaseLost);
    expect(await readMessages(store, upTo(1))).toEqual([committed]);
  });

  it("is not read when the request exceeds the limit", async () => {
    await writeMessages(store, at(6), sessionId, 2, [user("x".repeat(2_000_000))]);
    bucket.resetCounters();
    const read = readMessages(store, upTo(2), 1, 2, 1_000_000);
    await expect(read).rejects.toMatchObject({ code: 413 });
    expect(bucket.requests).toEqual([]);
  });
});

describe("a message up to 300 KB", () => {
  it("needs no call to the bucket, neither to write nor to read or delete it", async () => {
    const other = "b1946ac9-2492-4d1f-8b4e-000000000002";
    const message = user("x".repeat(299_900));
    await writeMessages(store, at(1), other, 1, [message]);
    expect(await readMessages(store, { ...upTo(1), sessionId: other })).toEqual([message]);
    await deleteMessages(store, sessionKey, other, 1, 1);
    expect(bucket.requests).toEqual([]);
  });
});

describe("a tool result above 300 KB", () => {
  const address = (callId: string) => ({ sessionKey, runId: "run", step: 0, callId });
  const large = { result: { output: "x".repeat(5_000_000) } };

  it("is stored in the bucket, and the first of two answers counts", async () => {
    expect(await putOutcome(store, address("a"), large, Date.now())).toBe(true);
    const second = { result: "y".repeat(400_000) };
    expect(await putOutcome(store, address("a"), second, Date.now())).toBe(false);
    const outcomes = await readOutcomes(store, sessionKey, { runId: "run", step: 0 }, [{ id: "a" }]);
    expect(outcomes.get("a")).toEqual(large);
  });

  it("is read only for the requested calls", async () => {
    await putOutcome(store, address("b"), { result: 1 }, Date.now());
    bucket.resetCounters();
    const outcomes = await readOutcomes(store, sessionKey, { runId: "run", step: 0 }, [
      { id: "b" },
      { id: "c" },
    ]);
    expect([...outcomes]).toEqual([["b", { result: 1 }]]);
    expect(bucket.requests).toEqual([]);
  });

  it("of a tool that must not run twice is stored in the same way", async () => {
    await putIntent(state.table, address("d"), Date.now());
    const before = await readOutcomes(store, sessionKey, { runId: "run", step: 0 }, [{ id: "d" }]);
    expect(before.get("d")).toBe("interrupted");
    await settleIntent(store, address("d"), large);
    const after = await readOutcomes(store, sessionKey, { runId: "run", step: 0 }, [{ id: "d" }]);
    expect(after.get("d")).toEqual(large);
  });

  it("that no longer exists is an error for the model, and the turn continues", async () => {
    const item = await state.table.get(resultKey(sessionKey, "run", 0, "a"));
    await bucket.delete(String(item?.bodyKey));
    const outcomes = await readOutcomes(store, sessionKey, { runId: "run", step: 0 }, [{ id: "a" }]);
    expect(outcomes.get("a")).toEqual({ error: expect.stringContaining("too old") });
  });
});

describe("an inbox entry", () => {
  const entry = (id: string, text: string) =>
    ({ id, at: 1, kind: "message", text, origin: { kind: "client" } }) as const;

  it("above 100 KB is refused with an alternative, and nothing is written", async () => {
    const refused = appendEntry(state.table, "agent:main:big", entry("1", "x".repeat(maxEntryBytes)), 1);
    await expect(refused).rejects.toMatchObject({
      code: 413,
      message: expect.stringContaining("workspace file"),
    });
    expect(await state.table.get(metaKey("agent:main:big"))).toBeUndefined();
  });

  it("of the maximum size fits after an inbox that is nearly full", async () => {
    const text = "x".repeat(maxEntryBytes - 200);
    for (const id of ["1", "2", "3"]) await appendEntry(state.table, "agent:main:full", entry(id, text), 1);
    const fourth = appendEntry(state.table, "agent:main:full", entry("4", text), 1);
    await expect(fourth).rejects.toMatchObject({ code: 429, retryable: true });
  });
});
