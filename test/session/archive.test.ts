import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import {
  archivePart,
  archiveSession,
  findArchives,
  listArchives,
  loadArchiveLines,
  readArchive,
  readArchiveLines,
} from "../../shared/session/archive.ts";
import { listSessions, patchSession, readSession } from "../../shared/session/sessions.ts";
import { newSession, type SessionState } from "../../shared/session/state.ts";
import * as transcript from "../../shared/session/transcript.ts";
import { clearMessages, newestMessages, writeMessages } from "../../shared/session/transcript.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";
import { type State, startState } from "../support/state.ts";

const sessionKey = "agent:main:main";
/** The example lines of the seed. */
const example: Message[] = [
  { role: "user", content: "Hello", timestamp: 1708300000000 },
  { role: "assistant", content: [{ type: "text", text: "Hi there!" }], timestamp: 1708300001000 },
  {
    role: "toolResult",
    toolCallId: "call_abc",
    toolName: "Bash",
    content: [{ type: "text", text: "output" }],
    isError: false,
    timestamp: 1708300002000,
  },
];
let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

/** A session in the table with these messages. */
async function sessionWith(sessionId: string, messages: Message[]): Promise<SessionState> {
  const session = { ...newSession(sessionKey, sessionId, 1), head: messages.length };
  await writeMessages(state, { sessionKey, epoch: 1 }, sessionId, 1, messages);
  return { ...session, tokens: { input: 10, output: 5, total: 15 } };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const numbered = (count: number): Message[] =>
  Array.from({ length: count }, (_, i) => ({ role: "user", content: `message ${i + 1}`, timestamp: i }));

describe("agents/{agentId}/sessions/{sessionId}.jsonl.gz", () => {
  it("is in the folder of its agent", async () => {
    const session = { ...newSession("agent:work:main", "s-work", 1), head: 0 };
    expect(await archiveSession(state, session, 1)).toBe("agents/work/sessions/s-work.jsonl.gz");
  });

  it("has the same bytes for the same messages, without a time", async () => {
    const [one, two] = [createMemoryBucket(), createMemoryBucket()];
    const session = await sessionWith("s-same", numbered(200));
    const key = await archiveSession({ table: state.table, bucket: one }, session, 5);
    await archiveSession({ table: state.table, bucket: two }, session, 5);
    const body = (await one.get(key))!.body;
    expect((await two.get(key))!.body).toEqual(body);
    expect([...body.subarray(4, 8)]).toEqual([0, 0, 0, 0]);
  });

  it("is not changed when it is written again, also after messages were cleared", async () => {
    const session = await sessionWith("s-again", numbered(50));
    const key = await archiveSession(state, session, 5);
    const { etag } = (await state.bucket.head(key))!;
    await clearMessages(state, sessionKey, "s-again");
    await archiveSession(state, session, 6);
    expect((await state.bucket.head(key))!.etag).toBe(etag);
  });

  it("is read message by message, with any characters", async () => {
    const texts = ["line\nbreak", "carriage\rreturn", "\u2028 and \u2029", "Überweisung 🧾", "\u0000", ""];
    const messages: Message[] = texts.map((content, i) => ({ role: "user", content, timestamp: i }));
    const key = await archiveSession(state, await sessionWith("s-text", messages), 1);
    expect(await all(readArchive(state.bucket, key))).toEqual(messages);
  });

  it("has pi-ai's cost in each line, also of replies that an earlier version stored", async () => {
    const tokens = { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5 };
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const cost = { ...none, input: 0.1, output: 0.2, total: 0.3 };
    const usages = [{ ...tokens, cost: 0.25 }, tokens, { ...tokens, cost }];
    const messages = usages.map(
      (usage): Message => ({ role: "assistant", content: [], usage, timestamp: 1 }),
    );
    const key = await archiveSession(state, await sessionWith("s-usage", messages), 1);
    const lines: unknown[] = await all(readArchiveLines(state.bucket, key));
    expect(lines.map((line) => JSON.parse(String(line)).usage)).toEqual([
      { ...tokens, cost: { ...none, total: 0.25 } },
      { ...tokens, cost: { ...none, total: 0 }, unpriced: true },
      { ...tokens, cost },
    ]);
  });

  it("throws when it is damaged, instead of returning a shorter conversation", async () => {
    const key = await archiveSession(state, await sessionWith("s-cut", numbered(500)), 1);
    const { body } = (await state.bucket.get(key))!;
    await state.bucket.put(key, body.subarray(0, body.byteLength - 20));
    await expect(all(readArchive(state.bucket, key))).rejects.toThrow();
    await expect(all(readArchive(state.bucket, "agents/main/sessions/none.jsonl.gz"))).rejects.toThrow();
  });

  it("is not written when its messages cannot be read", async () => {
    async function* failing(): AsyncGenerator<Message> {
      yield* example;
      throw new Error("no more");
    }
    const session = { sessionKey, sessionId: "s-fail" };
    const written = archivePart(state.bucket, session, 1, { count: 9, stream: failing() });
    await expect(written).rejects.toThrow("no more");
    expect(await findArchives(state.bucket, "main", "s-fail")).toEqual({ parts: [] });
  });
});

describe("agents/{agentId}/sessions/{sessionId}-part{timestamp}.jsonl.gz", () => {
  it("contains the messages of a compaction, with the metadata of the layout", async () => {
    const session = { sessionKey, sessionId: "s-part" };
    const key = await archivePart(state.bucket, session, 1708300009000, { count: 3, stream: example });
    expect(key).toBe("agents/main/sessions/s-part-part1708300009000.jsonl.gz");
    expect((await state.bucket.head(key))!).toMatchObject({
      contentType: "application/gzip",
      metadata: {
        sessionKey,
        sessionId: "s-part",
        agentId: "main",
        partNumber: "1708300009000",
        messageCount: "3",
        archivedAt: "1708300009000",
      },
    });
    expect(await all(readArchive(state.bucket, key))).toEqual(example);
  });

  it("is found with the other parts of its conversation, sorted by time, without those of other conversations", async () => {
    for (const [sessionId, at] of [
      ["s-1", 1000],
      ["s-1", 999],
      ["s-12", 5],
      ["s-1-part", 7],
    ] as const) {
      await archivePart(state.bucket, { sessionKey, sessionId }, at, { count: 0, stream: [] });
    }
    await archiveSession(state, await sessionWith("s-1", example), 1);
    const folder = "agents/main/sessions";
    expect(await findArchives(state.bucket, "main", "s-1")).toEqual({
      parts: [`${folder}/s-1-part999.jsonl.gz`, `${folder}/s-1-part1000.jsonl.gz`],
      final: `${folder}/s-1.jsonl.gz`,
    });
    expect(await findArchives(state.bucket, "main", "../main/sessions/s-1")).toEqual({ parts: [] });
    expect(await findArchives(state.bucket, "other", "s-1")).toEqual({ parts: [] });
  });
});

describe("the archives of an agent", () => {
  it("are listed, the newest first, and their lines are read at once", async () => {
    const bucket = createMemoryBucket();
    const at = { "s-old": 1000, "s-new": 3000, "s-mid": 2000 };
    for (const sessionId of Object.keys(at))
      await archivePart(bucket, { sessionKey, sessionId }, 1, { count: 3, stream: example });
    await bucket.put("agents/main/sessions/notes.txt", "x");
    await bucket.put("agents/main/sessions/s-new/messages/1.jsonl.gz", "x");
    const list: typeof bucket.list = async (...asked) => {
      const { objects, ...rest } = await bucket.list(...asked);
      const timeOf = (key: string) => Object.entries(at).find(([id]) => key.includes(id))?.[1] ?? 0;
      return { ...rest, objects: objects.map((one) => ({ ...one, lastModified: timeOf(one.key) })) };
    };
    const keys = await listArchives({ ...bucket, list }, "main");
    expect(keys.map((key) => key.slice(21, 26))).toEqual(["s-new", "s-mid", "s-old"]);
    expect(await loadArchiveLines(bucket, keys[0]!)).toEqual(example.map((one) => JSON.stringify(one)));
    expect(await loadArchiveLines(bucket, "none")).toBeUndefined();
  });
});

describe("a conversation in the table", () => {
  it("loses some of its messages, and their bodies in the bucket", async () => {
    const large: Message = { role: "user", content: "x".repeat(400_000), timestamp: 1 };
    const session = await sessionWith("s-some", [...numbered(44), large, ...numbered(1)]);
    await transcript.deleteMessages(state, sessionKey, "s-some", 3, 45);
    expect(await transcript.readMessages(state, session)).toEqual([...numbered(2), ...numbered(1)]);
    expect((await state.bucket.list("agents/main/sessions/s-some/")).objects).toEqual([]);
  });

  it("is cleared of all its messages, without touching others", async () => {
    const large: Message = { role: "user", content: "x".repeat(400_000), timestamp: 1 };
    await sessionWith("s-clear", [...numbered(45), large]);
    await sessionWith("s-keep", numbered(2));
    await clearMessages(state, sessionKey, "s-clear");
    const left = await state.table.query({ pk: `S#${sessionKey}`, prefix: "M#s-clear#" });
    expect(left).toEqual([]);
    expect((await state.bucket.list("agents/main/sessions/s-clear/")).objects).toEqual([]);
    expect(await state.table.query({ pk: `S#${sessionKey}`, prefix: "M#s-keep#" })).toHaveLength(2);
  });

  it("returns its newest messages up to a size, in order", async () => {
    const session = await sessionWith("s-new", numbered(100));
    expect(await newestMessages(state, session, Number.POSITIVE_INFINITY)).toEqual(numbered(100));
    const some = await newestMessages(state, session, 2000);
    expect(some.length).toBeLessThan(60);
    expect(some).toEqual(numbered(100).slice(-some.length));
  });
});

describe("a session in the table", () => {
  it("gets the changes of its settings, label and policy; null removes a value", async () => {
    const key = "agent:main:patched";
    await patchSession(state.table, key, {}, 1);
    const resetPolicy = { mode: "manual" } as const;
    const settings = { thinkingLevel: "low", maxTokens: 5, systemPrompt: undefined } as const;
    await patchSession(state.table, key, { settings, label: "x", resetPolicy }, 1);
    expect(await readSession(state.table, key)).toMatchObject({ label: "x", resetPolicy });
    expect((await readSession(state.table, key))?.settings).toEqual({ thinkingLevel: "low", maxTokens: 5 });
    await patchSession(state.table, key, { settings: { maxTokens: null }, label: null }, 1);
    const after = await readSession(state.table, key);
    expect(after).toMatchObject({ settings: { thinkingLevel: "low" }, resetPolicy });
    expect([after?.settings, after]).toEqual([
      expect.not.objectContaining({ maxTokens: 5 }),
      expect.not.objectContaining({ label: "x" }),
    ]);
    await patchSession(state.table, key, { resetPolicy: null }, 1);
    expect(await readSession(state.table, key)).not.toHaveProperty("resetPolicy");
  });

  it("is listed by its last activity, with its label", async () => {
    const { table } = await startState();
    for (const [i, name] of ["a", "b", "c"].entries())
      await patchSession(table, `agent:main:${name}`, name === "b" ? { label: "B" } : {}, 100 + i);
    const [first, second] = await listSessions(table, 1, 2);
    expect(first).toEqual({ sessionKey: "agent:main:b", createdAt: 101, lastActiveAt: 101, label: "B" });
    expect(second).toEqual({ sessionKey: "agent:main:a", createdAt: 100, lastActiveAt: 100 });
    expect(await listSessions(table, 2, 5)).toHaveLength(1);
  });
});
