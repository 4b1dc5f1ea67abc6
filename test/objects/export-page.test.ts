import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readExportPage } from "../../functions/socket/methods/object-answers.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { exportFormats } from "../../shared/protocol/objects.ts";
import { archivePart } from "../../shared/session/archive.ts";
import { metaKey, newSession, type SessionState } from "../../shared/session/state.ts";
import { summaryHeader } from "../../shared/session/summary-message.ts";
import { deleteMessages, writeMessages } from "../../shared/session/transcript.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let sessions = 0;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const say = (from: number, to: number): Message[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({
    role: "user",
    content: `${from + i} ${'ä"\n🧾'.repeat(100)}`,
    timestamp: from + i,
  }));
const summary: Message = { role: "user", content: `${summaryHeader(30)}They counted.`, timestamp: 1 };
const put = (session: SessionState) =>
  state.table.put({ ...(session as never as object), ...metaKey(session.sessionKey) });

/** A live session, of which a compaction has archived the first 30 messages. */
async function compacted(): Promise<SessionState> {
  const sessionKey = `agent:main:x${++sessions}`;
  const live = [summary, ...say(31, 60)];
  const made = newSession(sessionKey, `00000000-0000-4000-8000-${String(sessions).padStart(12, "0")}`, 1);
  const session = { ...made, head: live.length, compactedAt: 1000 };
  await put(session);
  await writeMessages(state, { sessionKey, epoch: 1 }, session.sessionId, 1, live);
  await archivePart(state.bucket, session, 1000, { count: 30, stream: say(1, 30) });
  return session;
}

const page = ({ sessionKey, sessionId }: SessionState, more: object = {}) => {
  const request = { agentId: "main", sessionKey, sessionId, format: "pi", redact: false, maxBytes: 10_000 };
  return readExportPage(state, { ...request, ...more } as Parameters<typeof readExportPage>[1]);
};

async function whole(session: SessionState, more: object, between = async () => {}): Promise<string> {
  let text = "";
  let next: string | undefined;
  do {
    const one = await page(session, { ...more, next });
    expect(Buffer.byteLength(JSON.stringify(one.text))).toBeLessThanOrEqual(10_100);
    text += one.text;
    next = one.next;
    if (next) await between();
  } while (next);
  return text;
}

const parsed = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("an export, page by page", () => {
  it("I17: is the whole conversation over its parts, every message once", async () => {
    expect(parsed(await whole(await compacted(), {}))).toEqual(say(1, 60));
  });

  it.each(exportFormats)("in one page or many is the same text: %s", async (format) => {
    const session = await compacted();
    const { text, next } = await page(session, { format, maxBytes: 8_000_000 });
    expect(next).toBeUndefined();
    expect(await whole(session, { format })).toBe(text);
  });

  it("holds what was said at its first page, whatever is said and compacted meanwhile", async () => {
    const session = await compacted();
    const { text } = await page(session, { format: "nexo", maxBytes: 8_000_000 });
    let times = 0;
    const after = await whole(session, { format: "nexo" }, async () => {
      if (times++ > 0) return;
      const more = [...say(61, 70)];
      await writeMessages(state, { sessionKey: session.sessionKey, epoch: 2 }, session.sessionId, 32, more);
      await archivePart(state.bucket, session, 2000, { count: 20, stream: say(31, 50) });
      await put({ ...session, first: 22, head: 41, compactedAt: 2000 });
      await deleteMessages(state, session.sessionKey, session.sessionId, 1, 21);
    });
    expect(times).toBeGreaterThan(1);
    expect(after).toBe(text);
    expect(parsed(await whole(session, {}))).toEqual(say(1, 70));
  });

  it("is refused for a place that is not from a page, and where there is no such conversation", async () => {
    const session = await compacted();
    for (const next of ["x", "1.2", "1.2.3.4", "-1.0.0"])
      await expect(page(session, { next })).rejects.toMatchObject({ code: 400 });
    await expect(page({ ...session, sessionId: "another" })).rejects.toMatchObject({ code: 404 });
  });
});
