import { code, PeerError } from "../protocol/errors.ts";
import type { Message } from "../protocol/messages.ts";
import { parseMessage } from "../protocol/stored-message.ts";
import type { Bucket, Table } from "../world/world.ts";
import { findArchives, partTime, readArchiveLines } from "./archive.ts";
import { readSession } from "./sessions.ts";
import type { SessionState } from "./state.ts";
import { readSummaryMessage } from "./summary-message.ts";
import { streamMessages } from "./transcript.ts";

/** Identifies a conversation of an agent, live or archived. */
export interface ConversationName {
  agentId: string;
  sessionId: string;
  /** Canonical. Needed to find a live conversation that has no archived part. */
  sessionKey?: string;
}

interface Store {
  table: Table;
  bucket: Bucket;
}

/** Where the messages of a conversation are: its archived parts in order, then the final archive or the live messages. */
export interface Conversation {
  /** Keys of its parts. */
  parts: string[];
  /** Key of the final archive, once the conversation has ended. */
  final?: string;
  /** The session, while the conversation is live. */
  live?: SessionState;
  /** The messages of each place, as lines of JSON, from a line on. */
  sources: ((fromLine: number) => AsyncIterable<string>)[];
  /** Whether a compaction or a reset has removed live messages since: the messages read may have a gap. */
  isMoved(): Promise<boolean>;
}

/** @throws PeerError 404 when there is no such conversation */
export async function openConversation(store: Store, name: ConversationName): Promise<Conversation> {
  const { agentId, sessionId } = name;
  const session = await findLive(store, name);
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
  const archives = final === undefined ? parts : [...parts, final];
  const sources: Conversation["sources"] = archives.map(
    (key) => (fromLine) => archiveLines(store.bucket, key, fromLine),
  );
  if (live) sources.push((fromLine) => liveLines(store, live, fromLine));
  return {
    parts,
    ...(final === undefined ? {} : { final }),
    ...(live ? { live } : {}),
    sources,
    isMoved: async () => live !== undefined && !(await isUnmoved(store.table, live)),
  };
}

/**
 * Whether a reader skips a line: after an archived part, the first line is the summary of that part, which the reader does
 * not need.
 */
export function isReplaced(source: number, line: number, text: string): boolean {
  return source > 0 && line === 0 && readSummaryMessage(JSON.parse(text) as Message) !== undefined;
}

/** The whole text of a conversation. */
export interface WholeConversation {
  /** Absent for an archive without metadata. */
  sessionKey?: string;
  /** Every message once, in order. */
  messages: Message[];
  /** The parts that compactions archived: when (epoch ms), and the number of messages up to the part's end. */
  parts: { at: number; messages: number }[];
}

/**
 * Reads a whole conversation.
 * @param maxBytes limit of its messages, in bytes of JSON
 * @throws PeerError 404 when there is no such conversation, 413 when it is larger
 */
export async function readConversation(
  store: Store,
  name: ConversationName,
  maxBytes: number,
): Promise<WholeConversation> {
  for (;;) {
    const conversation = await openConversation(store, name);
    const messages: Message[] = [];
    const parts: WholeConversation["parts"] = [];
    let bytes = 0;
    for (const [source, linesFrom] of conversation.sources.entries()) {
      let line = 0;
      for await (const text of linesFrom(0)) {
        if (isReplaced(source, line++, text)) continue;
        bytes += Buffer.byteLength(text);
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        messages.push(parseMessage(text));
      }
      const part = conversation.parts[source];
      if (part !== undefined) parts.push({ at: partTime(part), messages: messages.length });
    }
    if (await conversation.isMoved()) continue;
    const sessionKey = conversation.live?.sessionKey ?? (await keyOfArchive(store.bucket, conversation));
    return { ...(sessionKey === undefined ? {} : { sessionKey }), messages, parts };
  }
}

function tooLarge(maxBytes: number): PeerError {
  const message = `the conversation has more than ${maxBytes} bytes; read it in pages with session.transcript`;
  return new PeerError(code.tooLarge, message);
}

async function keyOfArchive(
  bucket: Bucket,
  { final, parts }: Pick<Conversation, "final" | "parts">,
): Promise<string | undefined> {
  const archive = final ?? parts[0];
  return archive === undefined ? undefined : (await bucket.head(archive))?.metadata.sessionKey;
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
  { table, bucket }: Store,
  { sessionKey, sessionId, agentId }: ConversationName,
): Promise<SessionState | undefined> {
  const key = sessionKey ?? (await keyOfArchive(bucket, await findArchives(bucket, agentId, sessionId)));
  const state = key === undefined ? undefined : await readSession(table, key);
  return state?.sessionId === sessionId ? state : undefined;
}

async function* archiveLines(bucket: Bucket, key: string, fromLine: number): AsyncGenerator<string> {
  let line = 0;
  for await (const text of readArchiveLines(bucket, key)) if (line++ >= fromLine) yield text;
}

async function* liveLines(store: Store, state: SessionState, fromLine: number): AsyncGenerator<string> {
  const rest = { ...state, first: state.first + fromLine };
  for await (const message of streamMessages(store, rest)) yield JSON.stringify(message);
}
