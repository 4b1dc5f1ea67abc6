import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { TranscriptPage } from "../../shared/protocol/results.ts";
import {
  type Conversation,
  type ConversationName,
  isReplaced,
  openConversation,
} from "../../shared/session/whole-conversation.ts";
import type { Bucket, Table } from "../../shared/world/world.ts";

export interface TranscriptRequest extends ConversationName {
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
  const conversation = await openConversation(store, request);
  const { parts, final } = conversation;
  const start = readPlace(request.next, parts.length);
  const page = await fillPage(conversation.sources, start, maxBytes);
  // A compaction or reset during the read may have deleted messages before they were read: read again.
  if (await conversation.isMoved()) return readTranscriptPage(store, request);
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

async function fillPage(
  sources: Conversation["sources"],
  start: Place,
  maxBytes: number,
): Promise<Pick<TranscriptPage, "messages" | "piece" | "next">> {
  const messages: Message[] = [];
  let room = maxBytes;
  for (const [source, linesFrom] of sources.entries()) {
    if (source < start.source) continue;
    let { line, offset } = source === start.source ? start : { line: 0, offset: 0 };
    for await (const text of linesFrom(line)) {
      if (isReplaced(source, line, text)) {
        line += 1;
        continue;
      }
      const place = { parts: start.parts, source, line, offset };
      const bytes = Buffer.byteLength(text) + 1;
      if (offset > 0 || bytes > maxBytes) {
        if (messages.length > 0) return { messages, next: writePlace(place) };
        return { messages, ...nextPiece(text, place, maxBytes) };
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

/**
 * The next piece of a message larger than a page. A UTF-16 unit takes at most 3 bytes of UTF-8, a quoted
 * character 2.
 */
function nextPiece(text: string, place: Place, maxBytes: number): Pick<TranscriptPage, "piece" | "next"> {
  const end = place.offset + Math.floor(maxBytes / 3);
  const isLast = end >= text.length;
  const next = isLast ? { ...place, line: place.line + 1, offset: 0 } : { ...place, offset: end };
  return { piece: { text: text.slice(place.offset, end), isLast }, next: writePlace(next) };
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
  if (!/^\d{1,9}(\.\d{1,9}){3}$/.test(next))
    throw new PeerError(code.badRequest, "next: expected the value of an earlier page");
  const [parts = 0, source = 0, line = 0, offset = 0] = next.split(".").map(Number);
  if (parts !== partsNow) {
    const message = "the conversation was compacted meanwhile; start over";
    throw new PeerError(code.conflict, message, { retryable: true });
  }
  return { parts, source, line, offset };
}
