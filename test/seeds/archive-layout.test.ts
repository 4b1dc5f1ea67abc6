import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { readTranscriptPage } from "../../functions/socket/transcript-page.ts";
import { storeResultImages } from "../../shared/media/media-content.ts";
import { storeMedia } from "../../shared/media/media-store.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { archiveKey, findArchives, partKey } from "../../shared/session/archive.ts";
import type { SessionState } from "../../shared/session/state.ts";
import type { Metadata, ObjectHead } from "../../shared/world/world.ts";
import { compact } from "../agent/compaction/compaction-bench.ts";
import { lastActivity, message, nextDay, ResetBench, reset } from "../agent/reset-bench.ts";
import { imageBytes } from "../support/images.ts";

/**
 * storage-layout.md, row by row: "Session Archives" and "Media", as the agent leaves them in the bucket. Format, size, key and
 * metadata of media: test/media/media-store.test.ts.
 */
const sessions = new ResetBench();
beforeAll(() => sessions.start());
beforeEach(() => sessions.renew());
afterAll(() => sessions.close());

/** The seed's example lines. They do not say where they came from, so their `origins` are unknown. */
const exampleLines = [
  '{"role":"user","content":"Hello","timestamp":1708300000000}',
  '{"role":"assistant","content":[{"type":"text","text":"Hi there!"}],"timestamp":1708300001000}',
  '{"role":"toolResult","toolCallId":"call_abc","toolName":"Bash","content":[{"type":"text","text":"output"}],"isError":false,"timestamp":1708300002000}',
];
const examples = exampleLines.map((line) => JSON.parse(line) as Message);

async function seed(messages: readonly Message[]): Promise<SessionState> {
  const tokens = { input: 100, output: 20, total: 120 };
  await sessions.bench.seed(sessions.key, messages, { updatedAt: lastActivity, tokens });
  return sessions.current();
}

const linesOf = async (key: string): Promise<string> =>
  gunzipSync((await sessions.state.bucket.get(key))!.body).toString();

describe("storage-layout.md, agents/{agentId}/sessions/{sessionId}.jsonl.gz", () => {
  let key: string;
  let before: SessionState;
  let head: ObjectHead;
  beforeEach(async () => {
    before = await seed(examples);
    await sessions.submit(reset("method", nextDay));
    await sessions.invoke(nextDay);
    key = `agents/${sessions.agentId}/sessions/${before.sessionId}.jsonl.gz`;
    head = (await sessions.state.bucket.head(key))!;
  });

  it("Format: JSONL, gzip-compressed, each line a message of the examples' form", async () => {
    expect(await linesOf(key)).toBe(`${exampleLines.join("\n")}\n`);
    expect(head.contentType).toBe("application/gzip");
  });

  it("Read: on transcript retrieval", async () => {
    const { sessionId } = before;
    const request = { agentId: sessions.agentId, sessionId, maxBytes: 100_000 };
    expect(await readTranscriptPage(sessions.state, request)).toMatchObject({
      archivedTo: key,
      messages: examples,
    });
  });

  it.each<[name: keyof Metadata, expected: (before: SessionState) => string]>([
    ["sessionKey", () => sessions.key],
    ["sessionId", ({ sessionId }) => sessionId],
    ["agentId", () => sessions.agentId],
    ["messageCount", () => "3"],
    ["archivedAt", () => String(nextDay)],
    ["inputTokens", () => "100"],
    ["outputTokens", () => "20"],
    ["totalTokens", () => "120"],
    ["origins", () => "unknown"],
  ])("custom metadata: %s", (name, expected) => {
    expect(head.metadata[name]).toBe(expected(before));
  });

  it("custom metadata: nothing else", () => {
    expect(Object.keys(head.metadata)).toHaveLength(9);
  });
});

describe("storage-layout.md, agents/{agentId}/sessions/{sessionId}.jsonl.gz, Written: on session reset", () => {
  it.each([
    ["manual, by session.reset", reset("method", nextDay)],
    ["manual, by /reset", reset("command", nextDay)],
    ["auto, by the schedule", reset("policy", nextDay)],
    ["auto, by a message", message("good morning", nextDay)],
  ])("%s", async (_how, entry) => {
    const { sessionId } = await seed(examples);
    await sessions.submit(entry);
    await sessions.invoke(nextDay);
    expect(await linesOf(archiveKey(sessions.agentId, sessionId))).toBe(`${exampleLines.join("\n")}\n`);
  });
});

describe("storage-layout.md, agents/{agentId}/sessions/{sessionId}-part{timestamp}.jsonl.gz", () => {
  let before: SessionState;
  let after: SessionState;
  let key: string;
  let head: ObjectHead;
  const said = [...examples, ...examples, { role: "user", content: "x".repeat(2000), timestamp: 1 } as const];
  beforeEach(async () => {
    sessions.reply = () => ({ text: "<summary>They greeted.</summary>" });
    before = await seed([...said, ...examples]);
    await sessions.submit({ ...compact("c1", 3), at: lastActivity });
    await sessions.invoke(lastActivity);
    after = await sessions.current();
    key = `agents/${sessions.agentId}/sessions/${before.sessionId}-part${after.compactedAt}.jsonl.gz`;
    head = (await sessions.state.bucket.head(key))!;
  });

  it("Format: JSONL, gzip-compressed, of the messages that the compaction removed", async () => {
    expect(await linesOf(key)).toBe(said.map((one) => `${JSON.stringify(one)}\n`).join(""));
    expect(head.contentType).toBe("application/gzip");
  });

  it("Written: during context compaction; {timestamp} is its time", () => {
    expect(after.compactedAt).toBe(lastActivity);
    expect(partKey(sessions.agentId, before.sessionId, lastActivity)).toBe(key);
  });

  it("Read: not during normal operation", async () => {
    const asked: string[] = [];
    const agent = sessions.agentAt(lastActivity);
    for (const name of ["get", "getStream", "head"] as const) {
      const call = agent.bucket[name];
      agent.bucket[name] = ((one: string) => {
        asked.push(one);
        return call(one);
      }) as never;
    }
    await sessions.submit(message("go on", lastActivity));
    await holdSession(agent, sessions.key, () => 900_000);
    expect(await sessions.live()).toHaveLength(6);
    expect(asked.filter((one) => one.includes("/sessions/"))).toEqual([]);
    expect(await findArchives(sessions.state.bucket, sessions.agentId, before.sessionId)).toEqual({
      parts: [key],
    });
  });

  it.each<[name: keyof Metadata, expected: (before: SessionState) => string]>([
    ["sessionKey", () => sessions.key],
    ["sessionId", ({ sessionId }) => sessionId],
    ["agentId", () => sessions.agentId],
    ["partNumber", () => String(lastActivity)],
    ["messageCount", () => "7"],
    ["archivedAt", () => String(lastActivity)],
    ["origins", () => "unknown"],
  ])("custom metadata: %s", (name, expected) => {
    expect(head.metadata[name]).toBe(expected(before));
  });

  it("custom metadata: nothing else", () => {
    expect(Object.keys(head.metadata)).toHaveLength(7);
  });
});

describe("storage-layout.md, media/{sessionKey}/{uuid}.{ext}", () => {
  const image = imageBytes("image/png", 500);
  const filename = "Überweisung 🧾.png";
  const target = () => ({ sessionKey: sessions.key, now: lastActivity });
  const store = (more: object = {}) =>
    storeMedia(sessions.state.bucket, target(), {
      type: "image",
      mimeType: "image/png",
      body: image,
      filename,
      ...more,
    });

  it("Written: on inbound message with media attachment; the message holds an r2Key reference", async () => {
    const media = await store();
    await sessions.submit(message("look", lastActivity, [media]));
    await sessions.invoke(lastActivity);
    const [said] = await sessions.live();
    const reference = { type: "image", mimeType: "image/png", r2Key: media.r2Key, size: 500 };
    expect(said?.content).toContainEqual(reference);
    expect(JSON.stringify(said)).not.toContain(image.toString("base64").slice(0, 50));
  });

  it("Written: when a tool result contains image content; base64 is replaced by an r2Key reference", async () => {
    const block = { type: "image", mimeType: "image/png", data: image.toString("base64") };
    const { bucket } = sessions.state;
    const call = { sessionKey: sessions.key, runId: "r", step: 0, callId: "c" };
    const stored = await storeResultImages(bucket, call, { content: [block] }, lastActivity);
    const [reference] = (stored as { content: { r2Key: string }[] }).content;
    expect(JSON.stringify(stored)).not.toContain(block.data);
    expect(reference!.r2Key.startsWith(`media/${sessions.key}/`)).toBe(true);
    expect(await sessions.state.bucket.head(reference!.r2Key)).toBeDefined();
  });

  it("Read: during LLM call, hydrated from r2Key references", async () => {
    await sessions.submit(message("look", lastActivity, [await store()]));
    await sessions.invoke(lastActivity);
    expect(JSON.stringify(sessions.model.requests.at(-1)?.body)).toContain(image.toString("base64"));
  });

  it("Deleted: on session reset, with everything under media/{sessionKey}/", async () => {
    await sessions.seed();
    await store();
    await sessions.submit(reset("method", nextDay));
    await sessions.invoke(nextDay);
    expect(await sessions.keysUnder("media/")).not.toContainEqual(
      expect.stringContaining(`${sessions.key}/`),
    );
  });

  it.each([
    ["image/jpeg", "jpg"],
    ["image/png", "png"],
    ["image/gif", "gif"],
    ["image/webp", "webp"],
    ["image/svg+xml", "svg"],
    ["audio/ogg", "ogg"],
    ["audio/opus", "opus"],
    ["audio/mpeg", "mp3"],
    ["audio/mp3", "mp3"],
    ["audio/mp4", "m4a"],
    ["audio/m4a", "m4a"],
    ["audio/wav", "wav"],
    ["audio/webm", "webm"],
    ["audio/flac", "flac"],
    ["video/mp4", "mp4"],
    ["video/webm", "webm"],
    ["video/quicktime", "mov"],
    ["application/pdf", "pdf"],
    ["application/msword", "doc"],
    ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
    ["text/html", "bin"],
    ["application/x-tgsticker", "bin"],
  ])("MIME type %s: extension %s, and contentType as it was", async (mimeType, extension) => {
    const [kind = ""] = mimeType.split("/");
    const type = ["image", "audio", "video"].includes(kind) ? kind : "document";
    const { r2Key } = await store({ type, mimeType });
    expect(r2Key.endsWith(`.${extension}`)).toBe(true);
    expect((await sessions.state.bucket.head(r2Key))?.contentType).toBe(mimeType);
  });
});
