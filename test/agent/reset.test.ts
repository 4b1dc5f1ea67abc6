import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/run.ts";
import { storeMedia } from "../../shared/session/media.ts";
import { maxPreviousIds, type SessionState } from "../../shared/session/state.ts";
import { isReading } from "../support/model-window.ts";
import { conversation, message, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start());
beforeEach(() => resets.renew());
afterAll(() => resets.close());

describe("Reset Behavior", () => {
  let before: SessionState;
  beforeEach(async () => {
    before = await resets.seed();
    await resets.submit(message("good morning", nextDay));
    await resets.invoke(nextDay);
  });

  it("1. current messages are archived", async () => {
    expect(await resets.archived(before.sessionId)).toEqual(conversation);
    const { metadata } = (await resets.state.bucket.head(
      `agents/${resets.agentId}/sessions/${before.sessionId}.jsonl.gz`,
    ))!;
    expect(metadata).toEqual({
      sessionKey: resets.key,
      sessionId: before.sessionId,
      agentId: resets.agentId,
      messageCount: "6",
      archivedAt: String(nextDay),
      inputTokens: "100",
      outputTokens: "20",
      totalTokens: "120",
    });
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

  it("5. to 8. there is a new id, the old one is remembered, tokens are zero, and the time is noted", async () => {
    const after = await resets.current();
    expect(after.sessionId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    expect(after.sessionId).not.toBe(before.sessionId);
    expect(after.previousSessionIds).toEqual([before.sessionId]);
    expect(after.lastResetAt).toBe(nextDay);
    expect(after.resetting).toBeUndefined();
  });

  it("9. and 10. the message opens the fresh session, and the loop goes on with it", async () => {
    expect((await resets.live()).map(({ role }) => role)).toEqual(["user", "assistant"]);
    const answered = resets.model.requests.find((request) => !isReading(request));
    expect(answered?.turns.map((turn) => turn.text)).toEqual(["good morning"]);
  });

  it("does not happen again for the next message", async () => {
    await resets.submit(message("and now?", nextDay + 60_000));
    await resets.invoke(nextDay + 60_000);
    expect((await resets.current()).previousSessionIds).toEqual([before.sessionId]);
    expect(await resets.live()).toHaveLength(4);
  });
});

describe("a reset by hand", () => {
  it("answers session.reset with everything it did", async () => {
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

  it("of a session in which nothing was said gives a new id, and archives and remembers nothing", async () => {
    await resets.bench.seed(resets.key, []);
    const before = await resets.current();
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.responses()).toMatchObject([{ archivedMessages: 0, mediaDeleted: 0 }]);
    expect(resets.responses()[0]).not.toHaveProperty("archivedTo");
    expect((await resets.current()).previousSessionIds).toEqual([before.sessionId]);
    expect(await resets.keysUnder(`agents/${resets.agentId}/`)).toEqual([]);
    expect(resets.model.requests).toEqual([]);
  });

  it("goes on without memories when the model cannot be reached", async () => {
    resets.reply = () => ({ error: { status: 400, message: "no" } });
    const before = await resets.seed();
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.responses()).toMatchObject([{ ok: true, archivedMessages: 6 }]);
    expect(await resets.archived(before.sessionId)).toEqual(conversation);
    expect(await resets.memories()).toBeUndefined();
  });

  it("extracts nothing when extraction is switched off", async () => {
    resets.bench.configuration.compaction.extractMemories = false;
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(resets.model.requests).toEqual([]);
    expect(await resets.memories()).toBeUndefined();
  });

  it("does not wait for a model whose calls killed it twice", async () => {
    let asked = 0;
    resets.reply = async () => {
      asked++;
      resets.allow = () => false;
      return { text: "<memories>- too late</memories>" };
    };
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    for (let i = 0; i < 2; i++) {
      await expect(resets.invoke(nextDay + i * 31_000)).rejects.toThrow();
      resets.allow = () => true;
    }
    await resets.invoke(nextDay + 62_000);
    expect(asked).toBe(2);
    expect(resets.responses()).toMatchObject([{ ok: true }]);
  });

  it("leaves the media of messages that wait", async () => {
    await resets.seed();
    const media = await resets.putMedia("three");
    await resets.submit(reset("method", nextDay));
    await resets.submit(message("look", nextDay, [media]));
    await resets.invoke(nextDay);
    expect(resets.responses()).toContainEqual(expect.objectContaining({ mediaDeleted: 2 }));
    expect(await resets.keysUnder(`media/${resets.key}/`)).toEqual([media.r2Key]);
  });

  it("leaves the media of a session whose key begins with this one's", async () => {
    await resets.seed();
    const media = { type: "document", mimeType: "application/pdf", body: Buffer.from("hers") } as const;
    const target = { sessionKey: `${resets.key}2`, now: nextDay };
    const { r2Key } = await storeMedia(resets.state.bucket, target, media);
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect(await resets.keysUnder(`media/${resets.key}`)).toEqual([r2Key]);
  });

  it("cannot delete what belongs to the next conversation when its process has lost the session", async () => {
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    const slow = resets.agentAt(nextDay);
    const list = slow.bucket.list;
    // While it waits for the list of media, its lease runs out, another finishes the reset, and new media comes in.
    slow.bucket.list = async (prefix, delimiter) => {
      if (!prefix.startsWith("media/")) return list(prefix, delimiter);
      await resets.invoke(nextDay + 31_000);
      await resets.putMedia("new");
      return list(prefix, delimiter);
    };
    await holdSession(slow, resets.key, () => 900_000);
    expect(await resets.keysUnder(`media/${resets.key}/`)).toHaveLength(1);
  });

  it("remembers the newest ids, and no more than fit", async () => {
    const old = Array.from({ length: maxPreviousIds }, (_, i) => `old-${i}`);
    const before = await resets.seed({ previousSessionIds: old });
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect((await resets.current()).previousSessionIds).toEqual([...old.slice(1), before.sessionId]);
  });
});
