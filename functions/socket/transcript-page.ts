import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { TranscriptPage } from "../../shared/protocol/results.ts";
import { findArchives, partTime, readArchiveLines } from "../../shared/session/archive.ts";
import { readSession } from "../../shared/session/sessions.ts";
import type { SessionState } from "../../shared/session/state.ts";
import { readSummaryMessage } from "../../shared/session/summary-message.ts";
import { streamMessages } from "../../shared/session/transcript.ts";
import type { Bucket, Table } from "../../shared/world/world.ts";

export interface TranscriptRequest {
  agentId: string;
  sessionId: string;
  /** Canonical. Needed to find a live conversation that has no archived part. */
  sessionKey?: string;
  next?: string;
  /** Maximum size of a page's messages, in bytes of JSON. */
  maxBytes: number;
}

/**
 * The start of a page: source, line in the source, character in the line. `parts`: number of parts at the
 * first page.
 */
interface Place {
  parts: number;
  source: number;
  line: number;
  offset: number;
}

type Source = (fromLine: number) => AsyncIterable<string>;

/**
 * Reads a page of a conversation.
 * @throws PeerError 404 when the conversation does not exist, 400 for an invalid `next`, 409 (retryable) when
 * the conversation was compacted after the first page: the caller starts again
 */
export async function readTranscriptPage(
  store: { table: Table; bucket: Bucket },
  request: TranscriptRequest,
): Promise<TranscriptPage> {
  const { agentId, sessionId, maxBytes } = request;
  const session = await findLive(store, request);
  // List archives after reading the session, so that every part that the session no longer holds is in the
  // list.
  const { parts: listed, final } = await findArchives(store.bucket, agentId, sessionId);
  const live = final === undefined ? session : undefined;
  // Messages of the newest part are still live until its compaction is committed.
  const parts = listed.filter((key) => !live || partTime(key) <= (live.compactedAt ?? 0));
  if (parts.length === 0 && !final && !live) {
    const message = `no conversation ${sessionId} of agent ${agentId}; a live one is found by its session key`;
    throw new PeerError(code.notFound, message);
  }
  const start = readPlace(request.next, parts.length);
  const archives = final === undefined ? parts : [...parts, final];
  const sources = archives.map(
    (key): Source =>
      (fromLine) =>
        archiveLines(store.bucket, key, fromLine),
  );
  if (live) sources.push((fromLine) => liveLines(store, live, fromLine));
  const page = await fillPage(sources, start, maxBytes);
  // A compaction or reset during the read may have deleted messages before they were read: read again.
  if (live && !(await isUnmoved(store.table, live))) return readTranscriptPage(store, request);
  const metadata =
    final !== undefined && request.next === undefined
      ? (await store.bucket.head(final))?.metadata
      : undefined;
  return {
    sessionId,
    agentId,
    parts,
    ...(final === undefined ? {} : { archivedTo: final }),
    ...(metadata ? { metadata } : {}),
    ...page,
  };
}

async function isUnmoved(table: Table, { sessionKey, sessionId, first }: SessionState): Promise<boolean> {
  const now = await readSession(table, sessionKey);
  return now?.sessionId === sessionId && now.first === first;
}

/**
 * The session, when the conversation is live. Without a session key, the key comes from the metadata of an
 * archived part.
 */
async function findLive(
  { table, bucket }: { table: Table; bucket: Bucket },
  { sessionKey, sessionId, agentId }: TranscriptRequest,
): Promise<SessionState | undefined> {
  const key = sessionKey ?? (await sessionKeyOf(bucket, agentId, sessionId));
  const state = key === undefined ? undefined : await readSession(table, key);
  return state?.sessionId === sessionId ? state : undefined;
}

async function sessionKeyOf(bucket: Bucket, agentId: string, sessionId: string): Promise<string | undefined> {
  const [part] = (await findArchives(bucket, agentId, sessionId)).parts;
  return part === undefined ? undefined : (await bucket.head(part))?.metadata.sessionKey;
}

async function fillPage(
  sources: readonly Source[],
  start: Place,
  maxBytes: number,
): Promise<Pick<TranscriptPage, "messages" | "piece" | "next">> {
  const messages: Message[] = [];
  let room = maxBytes;
  for (const [source, linesFrom] of sources.entries()) {
    if (source < start.source) continue;
    let { line, offset } = source === start.source ? start : { line: 0, offset: 0 };
    for await (const text of linesFrom(line)) {
      if (source > 0 && line === 0 && isSummary(text)) {
        line += 1;
        continue;
      }
      const place = { parts: start.parts, source, line, offset };
      const bytes = Buffer.byteLength(text) + 1;
      if (offset > 0 || bytes > maxBytes) {
        if (messages.length > 0) return { messages, next: writePlace(place) };
        return { messages, ...takePiece(text, place, maxBytes) };
      }
      if (bytes > room) return { messages, next: writePlace(place) };
      messages.push(JSON.parse(text) as Message);
      room -= bytes;
      line += 1;
      offset = 0;
    }
  }
  return { messages };
}

function isSummary(line: string): boolean {
  return readSummaryMessage(JSON.parse(line) as Message) !== undefined;
}

/**
 * The next piece of a message larger than a page. A UTF-16 unit takes at most 3 bytes of UTF-8, a quoted
 * character 2.
 */
function takePiece(text: string, place: Place, maxBytes: number): Pick<TranscriptPage, "piece" | "next"> {
  const end = place.offset + Math.floor(maxBytes / 3);
  const isLast = end >= text.length;
  const next = isLast ? { ...place, line: place.line + 1, offset: 0 } : { ...place, offset: end };
  return { piece: { text: text.slice(place.offset, end), isLast }, next: writePlace(next) };
}

async function* archiveLines(bucket: Bucket, key: string, fromLine: number): AsyncGenerator<string> {
  let line = 0;
  for await (const text of readArchiveLines(bucket, key)) if (line++ >= fromLine) yield text;
}

async function* liveLines(
  store: { table: Table; bucket: Bucket },
  state: SessionState,
  fromLine: number,
): AsyncGenerator<string> {
  const rest = { ...state, first: state.first + fromLine };
  for await (const message of streamMessages(store, rest)) yield JSON.stringify(message);
}

function writePlace({ parts, source, line, offset }: Place): string {
  return [parts, source, line, offset].join(".");
}

/**
 * When the conversation was reset after the first page, the same place is valid in its archive, which has the
 * same messages.
 */
function readPlace(next: string | undefined, partsNow: number): Place {
  if (next === undefined) return { parts: partsNow, source: 0, line: 0, offset: 0 };
  if (!/^\d{1,9}(\.\d{1,9}){3}$/.test(next)) throw new PeerError(code.badRequest, "next: not from a page");
  const [parts = 0, source = 0, line = 0, offset = 0] = next.split(".").map(Number);
  if (parts !== partsNow) {
    const message = "the conversation was compacted meanwhile; start over";
    throw new PeerError(code.conflict, message, { retryable: true });
  }
  return { parts, source, line, offset };
}
