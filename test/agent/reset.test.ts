import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { storeMedia } from "../../shared/media/media-store.ts";
import type { StoredMedia } from "../../shared/protocol/messages.ts";
import { maxPreviousIds, readPrevious, recordPreviousId } from "../../shared/session/previous-ids.ts";
import { metaKey, type SessionState } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { openFormatted } from "../../shared/world/stored-format.ts";
import { isReading } from "../support/models/model-window.ts";
import { conversation, lastActivity, message, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start());
beforeEach(() => resets.renew());
afterAll(() => resets.close());

describe("session-routing.md, Reset Behavior", () => {
  let before: SessionState;
  beforeEach(async () => {
    resets.reply = (request) => ({
      text: isReading(request) ? "<memories>- likes tea</memories>" : "a fresh answer",
      usage: { input: 5, output: 2 },
    });
    before = await resets.seed();
    await resets.submit(message("good morning", nextDay));
    await resets.invoke(nextDay);
  });

  it("1. current messages are archived", async () => {
    expect(await resets.archived(before.sessionId)).toEqual(conversation);
  });

  it("2. memories are appended to the daily file of the last activity", async () => {
    expect(await resets.memories()).toBe("### Extracted from context compaction (18:05)\n\n- likes tea\n");
    expect(await resets.memories("2026-03-02")).toBeUndefined();
  });

  it("3. session media is deleted", async () => {
    expect(await resets.keysUnder(`media/${resets.key}/`)).toEqual([]);
  });

  it("4. messages are cleared, large ones too", async () => {
    const rows = await resets.bench.items(resets.key);
    expect(rows.filter((row) => String(row.sk).includes(before.sessionId))).toEqual([]);
    expect(await resets.keysUnder(`agents/${resets.agentId}/sessions/${before.sessionId}/`)).toEqual([]);
  });

  it("5. a new sessionId (UUID) is generated", async () => {
    const { sessionId } = await resets.current();
    expect(sessionId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    expect(sessionId).not.toBe(before.sessionId);
  });

  it("6. the old sessionId is appended to previousSessionIds", async () => {
    expect(await resets.previous()).toEqual([before.sessionId]);
  });

  it("7. token counters are zeroed", async () => {
    // The counted tokens are those of the answer to the message.
    expect(before.tokens).toEqual({ input: 100, output: 20, total: 120 });
    expect((await resets.current()).tokens).toEqual({ input: 5, output: 2, total: 7 });
  });

  it("8. lastResetAt is set to the current time", async () => {
    const { lastResetAt, resetting } = await resets.current();
    expect([lastResetAt, resetting]).toEqual([nextDay, undefined]);
  });

  it("9. the triggering message is added to the fresh session", async () => {
    const origin = { channel: "client", messageId: "m-good morning" };
    expect((await resets.live())[0]).toEqual({
      role: "user",
      content: "good morning",
      origin,
      tail: "<gateway>\nNow: Monday, 2026-03-02 09:00\n</gateway>",
      timestamp: nextDay,
    });
  });

  it("10. the agent loop continues with the new message", async () => {
    expect((await resets.live()).map(({ role }) => role)).toEqual(["user", "assistant"]);
    const answered = resets.model.requests.find((request) => !isReading(request));
    expect(answered?.turns.map((turn) => turn.text)).toEqual(["good morning"]);
  });

  it("is not repeated for the next message", async () => {
    await resets.submit(message("and now?", nextDay + 60_000));
    await resets.invoke(nextDay + 60_000);
    expect(await resets.previous()).toEqual([before.sessionId]);
    expect(await resets.live()).toHaveLength(4);
  });
});

describe("a reset by hand", () => {
  it("answers session.reset with its full result", async () => {
    const before = await resets.seed();
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.responses()).toEqual([
      {
        ok: true,
        sessionKey: resets.key,
        oldSessionId: before.sessionId,
        newSessionId: (await resets.current()).sessionId,
        archivedMessages: 6,
        archivedTo: `agents/${resets.agentId}/sessions/${before.sessionId}.jsonl.gz`,
        tokensCleared: { input: 100, output: 20, total: 120 },
        mediaDeleted: 2,
      },
    ]);
  });

  it("answers /reset with the number of messages", async () => {
    await resets.seed();
    await resets.submit(reset("command", nextDay));
    await resets.invoke(nextDay);
    const response = "Session reset. Archived 6 messages.";
    expect(resets.responses()).toEqual([{ status: "command", command: "reset", response }]);
  });

  it("of a session without messages creates a new id, and archives and remembers nothing", async () => {
    await resets.bench.seed(resets.key, []);
    const before = await resets.current();
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.responses()).toMatchObject([{ archivedMessages: 0, mediaDeleted: 0 }]);
    expect(resets.responses()[0]).not.toHaveProperty("archivedTo");
    expect(await resets.previous()).toEqual([before.sessionId]);
    expect(await resets.keysUnder(`agents/${resets.agentId}/`)).toEqual([]);
    expect(resets.model.requests).toEqual([]);
  });

  it("extracts nothing if extraction is switched off", async () => {
    resets.bench.configuration.compaction.extractMemories = false;
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.model.requests).toEqual([]);
    expect(await resets.memories()).toBeUndefined();
  });

  it("keeps the media of waiting messages", async () => {
    await resets.seed();
    const media = await resets.putMedia("three");
    await resets.submit(reset("method", nextDay));
    await resets.submit(message("look", nextDay, [media]));
    await resets.invoke(nextDay);
    expect(resets.responses()).toContainEqual(expect.objectContaining({ mediaDeleted: 2 }));
    expect(await resets.keysUnder(`media/${resets.key}/`)).toEqual([media.r2Key]);
  });

  it("keeps the media of a message that is stored during the listing and arrives after the reset", async () => {
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    const agent = resets.agentAt(nextDay);
    const { list } = agent.bucket;
    let media: StoredMedia | undefined;
    agent.bucket.list = async (prefix, delimiter) => {
      if (!prefix.startsWith("media/")) return list(prefix, delimiter);
      media = await resets.putMedia("arriving");
      // By the clock of another machine, its upload may have begun before the reset.
      resets.storedAt.set(media.r2Key, nextDay - 2_000);
      return list(prefix, delimiter);
    };
    await holdSession(agent, resets.key, () => 900_000);
    expect(resets.responses()).toContainEqual(expect.objectContaining({ mediaDeleted: 2 }));
    expect(await resets.keysUnder(`media/${resets.key}/`)).toEqual([media?.r2Key]);
  });

  it("deletes the media that the conversation names, even if it was just stored", async () => {
    await resets.seed();
    const media = await resets.putMedia("three");
    resets.storedAt.set(media.r2Key, nextDay - 2_000);
    await resets.submit(message("look", nextDay - 1_000, [media]));
    await resets.invoke(nextDay);
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.responses()).toContainEqual(expect.objectContaining({ ok: true }));
    expect(await resets.keysUnder(`media/${resets.key}/`)).toEqual([]);
  });

  it("keeps the media of a session whose key begins with this one's", async () => {
    await resets.seed();
    const media = { type: "document", mimeType: "application/pdf", body: Buffer.from("hers") } as const;
    const target = { sessionKey: `${resets.key}2`, now: nextDay };
    const { r2Key } = await storeMedia(resets.state.bucket, target, media);
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(await resets.keysUnder(`media/${resets.key}`)).toEqual([r2Key]);
  });

  it("cannot delete media of the next conversation after its process has lost the lease", async () => {
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    const slow = resets.agentAt(nextDay);
    const list = slow.bucket.list;
    // While it waits for the list of media, its lease expires, another process finishes the reset, and new media arrives.
    slow.bucket.list = async (prefix, delimiter) => {
      if (!prefix.startsWith("media/")) return list(prefix, delimiter);
      await resets.invoke(nextDay + 31_000);
      await resets.putMedia("new");
      return list(prefix, delimiter);
    };
    await holdSession(slow, resets.key, () => 900_000);
    expect(await resets.keysUnder(`media/${resets.key}/`)).toHaveLength(1);
  });

  it("returns the newest ids, which are not in the session's own item", async () => {
    const before = await resets.seed();
    const session = { sessionKey: resets.key, sessionId: "" };
    for (let n = 0; n < maxPreviousIds; n++)
      await recordPreviousId(resets.state.table, { ...session, sessionId: `old-${n}`, resets: n });
    await resets.state.table.update(metaKey(resets.key), [set("resets", maxPreviousIds)]);
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    const ids = await resets.previous();
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([maxPreviousIds, "old-1", before.sessionId]);
    const previous = await readPrevious(resets.state.table, await resets.current());
    expect([previous[0], previous.at(-1)]).toEqual([
      { sessionId: "old-1" },
      { sessionId: before.sessionId, lastActiveAt: before.updatedAt },
    ]);
    expect(JSON.stringify(await resets.current())).not.toContain("old-");
  });

  it("leaves a list to a version that stores the ids in the session's item, before and after the reset", async () => {
    const stored = resets.state.table;
    await resets.seed();
    const agent = () => ({ ...resets.agentAt(nextDay), table: openFormatted(stored) });
    await resets.submit(message("hello", lastActivity));
    await holdSession({ ...agent(), now: () => lastActivity }, resets.key, () => 900_000);
    expect(await resets.current()).toMatchObject({ previousSessionIds: [] });
    await resets.submit(reset("method", nextDay));
    await holdSession(agent(), resets.key, () => 900_000);
    expect(await resets.current()).toMatchObject({ resets: 1, previousSessionIds: [] });
  });

  it("keeps the ids that an earlier version stored in two items", async () => {
    const [older, newer] = [["a", "b"], Array.from({ length: 20 }, (_, i) => `c-${i}`)];
    await resets.state.table.put({ ...metaKey(resets.key), sk: "PREVIOUS", ids: older });
    const before = await resets.seed({ previousSessionIds: newer });
    expect(await resets.previous()).toEqual([...older, ...newer]);
    for (const day of [0, 1]) {
      const at = nextDay + day * 86_400_000;
      await resets.submit({ ...reset("method", at), id: `reset-${day}` });
      await resets.invoke(at);
    }
    const [first, ...more] = (await resets.previous()).slice(older.length + newer.length);
    expect(await resets.previous()).toEqual([...older, ...newer, before.sessionId, ...more]);
    expect([first, more.length]).toEqual([before.sessionId, 1]);
    expect(await resets.current()).not.toHaveProperty("previousSessionIds");
  });

  it("does not return the conversation that a reset in progress is about to end", async () => {
    await resets.seed({ resets: 1 });
    await recordPreviousId(resets.state.table, { sessionKey: resets.key, sessionId: "ended" });
    await recordPreviousId(resets.state.table, await resets.current());
    expect(await resets.previous()).toEqual(["ended"]);
  });
});
