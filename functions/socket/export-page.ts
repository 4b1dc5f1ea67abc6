import { exportLines } from "../../shared/adapters/adapters.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { ExportFormat } from "../../shared/protocol/objects.ts";
import type { ExportPage } from "../../shared/protocol/results.ts";
import { type ConversationName, readConversation } from "../../shared/session/whole-conversation.ts";
import type { Bucket, Table } from "../../shared/world/world.ts";

/** Largest conversation that is exported, in bytes of its messages. */
const mostBytes = 64 * 1024 * 1024;

export interface ExportRequest extends ConversationName {
  format: ExportFormat;
  /** Whether secrets are replaced. */
  redact: boolean;
  next?: string;
  /** Maximum size of a page, in bytes of its text. */
  maxBytes: number;
}

/** What an export held when it was begun, and the character that a page begins with. */
interface Place {
  messages: number;
  parts: number;
  offset: number;
}

/**
 * A page of an export. All pages of an export hold the same messages, whatever is said or compacted meanwhile.
 * @throws PeerError 404 when the conversation does not exist, 400 for an invalid `next`, 413 when it is too large
 */
export async function readExportPage(
  store: { table: Table; bucket: Bucket },
  request: ExportRequest,
): Promise<ExportPage> {
  const { agentId, sessionId, format, redact, maxBytes } = request;
  const { sessionKey, messages, parts } = await readConversation(store, request, mostBytes);
  const begun = { messages: messages.length, parts: parts.length, offset: 0 };
  const place = request.next === undefined ? begun : readPlace(request.next);
  const conversation = {
    ...{ agentId, sessionId, sessionKey },
    messages: messages.slice(0, place.messages),
    parts: parts.slice(0, place.parts),
  };
  // A UTF-16 unit takes at most 3 bytes of UTF-8, a quoted character 2.
  const most = Math.floor(maxBytes / 3);
  const { text, isEnd } = cut(exportLines(conversation, format, redact), place.offset, most);
  const next = [place.messages, place.parts, place.offset + text.length].join(".");
  return {
    ...{ sessionId, agentId, format, text },
    ...(sessionKey === undefined ? {} : { sessionKey }),
    ...(isEnd ? {} : { next }),
  };
}

/** At most `most` characters of the lines from a character on, each with its line end. */
function cut(lines: Iterable<string>, offset: number, most: number): { text: string; isEnd: boolean } {
  let before = 0;
  let text = "";
  for (const line of lines) {
    const ended = `${line}\n`;
    if (text.length >= most) return { text, isEnd: false };
    const from = Math.max(0, offset - before);
    before += ended.length;
    if (from >= ended.length) continue;
    const piece = ended.slice(from, from + most - text.length);
    text += piece;
    if (from + piece.length < ended.length) return { text, isEnd: false };
  }
  return { text, isEnd: true };
}

function readPlace(next: string): Place {
  if (!/^\d{1,9}\.\d{1,9}\.\d{1,10}$/.test(next))
    throw new PeerError(code.badRequest, "next: not from a page");
  const [messages = 0, parts = 0, offset = 0] = next.split(".").map(Number);
  return { messages, parts, offset };
}
