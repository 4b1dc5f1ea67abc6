import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTranscriptPage } from "../../functions/socket/transcript-page.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { TranscriptPage } from "../../shared/protocol/results.ts";
import { archivePart, archiveSession, partKey } from "../../shared/session/archive.ts";
import { metaKey, newSession, type SessionState } from "../../shared/session/state.ts";
import { summaryHeader } from "../../shared/session/summary-message.ts";
import { clearMessages, deleteMessages, writeMessages } from "../../shared/session/transcript.ts";
import { readConversation } from "../../shared/session/whole-conversation.ts";
import type { Table } from "../../shared/world/world.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let sessions = 0;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const say = (from: number, to: number, length = 10): Message[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({
    role: "user",
    content: `${from + i} ${'ä"\n🧾'.repeat(length)}`,
    timestamp: from + i,
  }));

const summary = (count: number): Message => ({
  role: "user",
  content: `${summaryHeader(count)}They counted.`,
  timestamp: 1,
});

/** A live session of agent `main`, with archived parts. */
async function live(messages: Message[], ...parts: Message[][]): Promise<SessionState> {
  const sessionKey = `agent:main:s${++sessions}`;
  const session: SessionState = {
    ...newSession(sessionKey, `id-${sessions}`, 1),
    head: messages.length,
    compactedAt: 999 + parts.length,
  };
  await put(session);
  await writeMessages(state, { sessionKey, epoch: 1 }, session.sessionId, 1, messages);
  for (const [i, part] of parts.entries()) {
    await archivePart(state.bucket, session, 1000 + i, { count: part.length, stream: part });
  }
  return session;
}

async function put(session: SessionState): Promise<void> {
  await state.table.put({ ...(session as never as object), ...metaKey(session.sessionKey) });
}

async function reset(session: SessionState): Promise<void> {
  await archiveSession(state, session, 5000);
  await clearMessages(state, session.sessionKey, session.sessionId);
  await put({ ...session, sessionId: `${session.sessionId}-next`, head: 0 });
}

const page = (session: SessionState, more: object = {}) =>
  readTranscriptPage(state, { agentId: "main", maxBytes: 10_000, ...session, ...more });

/** All pages, and their joined content. */
async function read(session: SessionState, maxBytes: number) {
  const pages: TranscriptPage[] = [];
  const messages: Message[] = [];
  let begun = "";
  for (let next: string | undefined, more = true; more; more = next !== undefined) {
    const one = await page(session, { maxBytes, next });
    expect(Buffer.byteLength(JSON.stringify(one.messages))).toBeLessThanOrEqual(maxBytes + 100);
    expect(Buffer.byteLength(JSON.stringify(one.piece?.text ?? ""))).toBeLessThanOrEqual(maxBytes + 100);
    pages.push(one);
    messages.push(...one.messages);
    begun += one.piece?.text ?? "";
    if (one.piece?.isLast) messages.push(JSON.parse(begun.slice(0)) as Message);
    if (one.piece?.isLast) begun = "";
    next = one.next;
  }
  return { pages, messages };
}

describe("a conversation, page by page", () => {
  it.each([300, 1000, 100_000])(
    "has its parts in order, then the live messages (%i bytes per page)",
    async (maxBytes) => {
      const session = await live(say(61, 90), say(1, 30), say(31, 60));
      const { pages, messages } = await read(session, maxBytes);
      expect(messages).toEqual(say(1, 90));
      expect(pages[0]!.parts).toEqual([
        `agents/main/sessions/${session.sessionId}-part1000.jsonl.gz`,
        `agents/main/sessions/${session.sessionId}-part1001.jsonl.gz`,
      ]);
      expect(pages[0]).not.toHaveProperty("archivedTo");
    },
  );

  it("has its parts, then its archive, after a reset", async () => {
    const session = await live(say(31, 60), say(1, 30));
    await reset(session);
    const { pages, messages } = await read(session, 1000);
    expect(messages).toEqual(say(1, 60));
    const archivedTo = `agents/main/sessions/${session.sessionId}.jsonl.gz`;
    expect(pages[0]).toMatchObject({
      archivedTo,
      metadata: { sessionKey: session.sessionKey, messageCount: "30" },
    });
    expect(pages[1]).not.toHaveProperty("metadata");
  });

  it("splits a message that is larger than a page", async () => {
    const messages = [...say(1, 3), ...say(4, 4, 2000), ...say(5, 6), ...say(7, 7, 3000)];
    const session = await live(messages);
    expect((await read(session, 2500)).messages).toEqual(messages);
    await reset(session);
    const { pages, messages: again } = await read(session, 2500);
    expect(again).toEqual(messages);
    expect(pages.filter(({ piece }) => piece).length).toBeGreaterThan(10);
  });

  it("continues if the session is reset between two pages", async () => {
    const session = await live(say(31, 60), say(1, 30));
    const first = await page(session, { maxBytes: 6500 });
    expect(first.messages.length).toBeGreaterThan(30);
    await reset(session);
    const rest = await page(session, { maxBytes: 100_000, next: first.next });
    expect([...first.messages, ...rest.messages]).toEqual(say(1, 60));
  });

  it("has to be started again if it is compacted between two pages", async () => {
    const session = await live(say(1, 60));
    const { next } = await page(session, { maxBytes: 1000 });
    await archivePart(state.bucket, session, 2000, { count: 30, stream: say(1, 30) });
    expect((await page(session, { next, maxBytes: 100_000 })).messages.at(-1)).toEqual(say(60, 60)[0]);
    await put({ ...session, first: 31, compactedAt: 2000 });
    await expect(page(session, { next })).rejects.toMatchObject({ code: 409, retryable: true });
  });

  it("contains no summary, unless the archived part is missing", async () => {
    const parts = [say(1, 10), [summary(10), ...say(11, 20)]];
    const session = await live([summary(20), ...say(21, 30)], ...parts);
    expect((await read(session, 300)).messages).toEqual(say(1, 30));
    await reset(session);
    expect((await read(session, 300)).messages).toEqual(say(1, 30));
    await state.bucket.delete(partKey("main", session.sessionId, 1000));
    expect((await read(session, 1000)).messages).toEqual([summary(10), ...say(11, 30)]);
  });

  it("is complete if it is compacted or reset while a page is read", async () => {
    const session = await live(say(1, 60));
    for (const happens of [
      async () => {
        await archivePart(state.bucket, session, 2000, { count: 30, stream: say(1, 30) });
        const compacted = { ...session, first: 31, compactedAt: 2000 };
        await put(compacted);
        await deleteMessages(state, session.sessionKey, session.sessionId, 1, 30);
      },
      () => reset({ ...session, first: 31 }),
    ]) {
      let left: (() => Promise<void>) | undefined = happens;
      const table = {
        ...state.table,
        query: async (...args: Parameters<Table["query"]>) => {
          const first = left;
          left = undefined;
          await first?.();
          return state.table.query(...args);
        },
      };
      const request = { agentId: "main", maxBytes: 100_000, sessionKey: session.sessionKey };
      const whole = await readTranscriptPage(
        { ...state, table },
        { ...request, sessionId: session.sessionId },
      );
      expect(whole.messages).toEqual(say(1, 60));
    }
  });

  it("is found by one of its parts if no session is named", async () => {
    const session = await live(say(3, 4), say(1, 2));
    expect((await page(session, { sessionKey: undefined })).messages).toEqual(say(1, 4));
  });

  it("is 404 if it does not exist, and for an invalid id", async () => {
    const session = await live(say(1, 2));
    for (const sessionId of ["none", "../id-1", ""]) {
      await expect(page(session, { sessionId })).rejects.toMatchObject({ code: 404 });
    }
    await expect(page(session, { sessionKey: undefined })).rejects.toMatchObject({ code: 404 });
  });

  it.each(["x", "1.2.3", "0.0.0.-1", "9999999999.0.0.0"])("refuses the page %j", async (next) => {
    await expect(page(await live(say(1, 2)), { next })).rejects.toMatchObject({ code: 400 });
  });
});

describe("a whole conversation", () => {
  const whole = (session: SessionState, maxBytes = 1_000_000) =>
    readConversation(state, { agentId: "main", sessionId: session.sessionId }, maxBytes);

  it("is read with its session's key, live or archived", async () => {
    const session = await live([summary(60), ...say(61, 90)], say(1, 30), say(31, 60));
    const parts = [
      { at: 1000, messages: 30 },
      { at: 1001, messages: 60 },
    ];
    const expected = { sessionKey: session.sessionKey, messages: say(1, 90), parts };
    expect(await whole(session)).toEqual(expected);
    await reset(session);
    expect(await whole(session)).toEqual(expected);
  });

  it("is refused above the limit, and if there is none", async () => {
    const session = await live(say(1, 30), say(1, 30));
    await expect(whole(session, 1000)).rejects.toMatchObject({ code: 413 });
    await expect(whole({ ...session, sessionId: "another" })).rejects.toMatchObject({ code: 404 });
  });
});
