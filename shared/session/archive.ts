import { pipeline, Readable } from "node:stream";
import { createGunzip, createGzip, gunzipSync } from "node:zlib";
import { originsMetadata } from "../origins/origins.ts";
import type { Message } from "../protocol/messages.ts";
import { parseMessage } from "../protocol/stored-message.ts";
import { type Bucket, type Metadata, PreconditionFailed, type Table } from "../world/world.ts";
import { agentIdOf } from "./key/session-key.ts";
import { messageCount, type SessionState } from "./state.ts";
import { streamMessages } from "./transcript.ts";

/**
 * Archives of conversations (docs/reference/storage-layout.md, "Session Archives"): JSON lines, one message a line,
 * compressed with gzip. An archive is written once and never changed. It has the content type of a gzip file
 * and no content encoding, so that clients download the compressed file, which `gzip -dc` reads.
 */
const contentType = "application/gzip";

/** Text is compressed in pieces of about this many characters. */
const pieceLength = 64 * 1024;

/** The archive of a whole conversation, written when its session is reset. */
export function archiveKey(agentId: string, sessionId: string): string {
  return `${sessionsPrefix(agentId)}${sessionId}.jsonl.gz`;
}

/** A part of a conversation, written when it is compacted. `at`: epoch ms. */
export function partKey(agentId: string, sessionId: string, at: number): string {
  return `${sessionsPrefix(agentId)}${sessionId}-part${at}.jsonl.gz`;
}

/** The time of the compaction in a part's key, epoch ms. NaN for any other key. */
export function partTime(key: string): number {
  return Number(/-part(\d+)\.jsonl\.gz$/.exec(key)?.[1]);
}

function sessionsPrefix(agentId: string): string {
  return `agents/${agentId}/sessions/`;
}

/**
 * Archives the live messages of a session that is being reset. Safe to repeat: an existing archive is not
 * changed.
 * @param at the archive's `archivedAt`, epoch ms; the same for each repeat
 * @returns its key
 */
export async function archiveSession(
  store: { table: Table; bucket: Bucket },
  state: SessionState,
  at: number,
): Promise<string> {
  const { sessionKey, sessionId, tokens } = state;
  const agentId = agentIdOf(sessionKey);
  const key = archiveKey(agentId, sessionId);
  const metadata: Metadata = {
    sessionKey,
    sessionId,
    agentId,
    ...originsMetadata(state.origins),
    messageCount: String(messageCount(state)),
    archivedAt: String(at),
    inputTokens: String(tokens.input),
    outputTokens: String(tokens.output),
    totalTokens: String(tokens.total),
  };
  await writeArchive(store.bucket, key, metadata, streamMessages(store, state));
  return key;
}

/**
 * Archives messages that a compaction removes from a session. Safe to repeat: an existing archive is not
 * changed.
 * @param at time of the compaction, which is part of the key; epoch ms, the same for each repeat
 * @returns its key
 */
export async function archivePart(
  bucket: Bucket,
  { sessionKey, sessionId, origins }: Pick<SessionState, "sessionKey" | "sessionId" | "origins">,
  at: number,
  messages: { count: number; stream: AsyncIterable<Message> | Iterable<Message> },
): Promise<string> {
  const agentId = agentIdOf(sessionKey);
  const key = partKey(agentId, sessionId, at);
  const metadata: Metadata = {
    sessionKey,
    sessionId,
    agentId,
    ...originsMetadata(origins),
    partNumber: String(at),
    messageCount: String(messages.count),
    archivedAt: String(at),
  };
  await writeArchive(bucket, key, metadata, messages.stream);
  return key;
}

/**
 * Compresses and uploads while messages are read. Never overwrites an archive: a repeat, after a crash or a
 * takeover of the session, has the same messages, or fewer when they are already being deleted.
 */
async function writeArchive(
  bucket: Bucket,
  key: string,
  metadata: Metadata,
  messages: AsyncIterable<Message> | Iterable<Message>,
): Promise<void> {
  // The gzip header has no file name and no time, so that the same messages give the same bytes.
  const gzip = createGzip();
  // An error while reading messages ends the gzip stream with that error, which the upload then throws.
  pipeline(Readable.from(toLines(messages)), gzip, () => {});
  try {
    await bucket.putStream(key, gzip, { contentType, metadata, ifAbsent: true });
  } catch (error) {
    if (!(error instanceof PreconditionFailed && (await bucket.head(key)))) throw error;
  } finally {
    gzip.destroy();
  }
}

async function* toLines(messages: AsyncIterable<Message> | Iterable<Message>): AsyncGenerator<string> {
  let piece = "";
  for await (const message of messages) {
    piece += `${JSON.stringify(message)}\n`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

/**
 * The messages of an archive, in order, downloaded while they are read.
 * @throws when there is none, or it is damaged
 */
export async function* readArchive(bucket: Bucket, key: string): AsyncGenerator<Message> {
  for await (const line of readArchiveLines(bucket, key)) yield parseMessage(line);
}

/** The lines of an archive, read at once (for parts, which are small); undefined when there is none. */
export async function loadArchiveLines(bucket: Bucket, key: string): Promise<string[] | undefined> {
  const object = await bucket.get(key);
  return (
    object &&
    gunzipSync(object.body)
      .toString("utf8")
      .split("\n")
      .filter((line) => line !== "")
  );
}

/** As `readArchive`, but yields the lines of JSON without parsing them. */
export async function* readArchiveLines(bucket: Bucket, key: string): AsyncGenerator<string> {
  const object = await bucket.getStream(key);
  if (!object) throw new Error(`there is no archive ${key}`);
  const text = createGunzip();
  pipeline(Readable.from(object.body), text, () => {});
  // Split at line feeds only: JSON may contain other characters that some readers treat as line ends.
  let begun: Buffer[] = [];
  for await (const chunk of text as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString("utf8");
      begun = [];
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
  }
  const last = Buffer.concat(begun).toString("utf8");
  if (last !== "") yield last;
}

/** The keys of all archives of an agent, the newest first. */
export async function listArchives(bucket: Bucket, agentId: string): Promise<string[]> {
  const { objects } = await bucket.list(sessionsPrefix(agentId), "/");
  return objects
    .filter(({ key }) => key.endsWith(".jsonl.gz"))
    .sort((a, b) => b.lastModified - a.lastModified)
    .map(({ key }) => key);
}

/** Archive keys of one conversation: its parts in order, and the final archive once the session was reset. */
export interface Archives {
  parts: string[];
  final?: string;
}

/** @param sessionId any text; a text that is not a valid session id has no archives */
export async function findArchives(bucket: Bucket, agentId: string, sessionId: string): Promise<Archives> {
  if (!/^[\w-]{1,64}$/.test(sessionId)) return { parts: [] };
  const final = archiveKey(agentId, sessionId);
  const { objects } = await bucket.list(`${sessionsPrefix(agentId)}${sessionId}`, "/");
  const keys = objects.map(({ key }) => key);
  const isPart = (key: string) => key === partKey(agentId, sessionId, partTime(key));
  const parts = keys.filter(isPart).sort((a, b) => partTime(a) - partTime(b));
  return { parts, ...(keys.includes(final) ? { final } : {}) };
}
