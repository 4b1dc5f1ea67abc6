import { mediaPrefix } from "../media/media-store.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { Message } from "../protocol/messages.ts";
import type { Bucket } from "../world/world.ts";
import { type Importer, importConversation } from "./import-conversation.ts";
import { agentIdOf } from "./key/session-key.ts";
import { readSession } from "./sessions.ts";
import type { SessionState } from "./state.ts";
import { readMessages } from "./transcript.ts";
import { originsOfSession } from "./words-read.ts";

/** Maximum messages to copy, in bytes of JSON. */
const maxBytes = 16 * 1024 * 1024;

/** Where a new session begins. */
export interface Fork {
  /** The session to copy, canonical. */
  sessionKey: string;
  /** The first message that is not copied: one of a user, or one more than the last one. Absent: the latter. */
  seq?: number;
  /** A UUID. A repeat with the same id is the same fork. */
  forkId: string;
}

/**
 * Copies the beginning of a conversation, its files and settings into a new session; the old one stays unchanged.
 * @returns the key of the new session and the number of its messages
 * @throws PeerError 404 for a session or message that does not exist or is archived; 400 for a message that is not a user's;
 * 413 above 16 MB; 409, retryable, when the conversation was compacted or reset meanwhile
 */
export async function forkSession(
  importer: Importer,
  { sessionKey, seq, forkId }: Fork,
): Promise<{ sessionKey: string; sessionId: string; messages: number }> {
  const state = await readSession(importer.table, sessionKey);
  if (!state) throw new PeerError(code.notFound, `no session ${sessionKey}`);
  const end = seq ?? state.head + 1;
  if (end < state.first || end > state.head + 1)
    throw new PeerError(code.notFound, `seq: ${end} is none of the messages ${state.first} to ${state.head}`);
  const read = await readMessages(importer, state, state.first, Math.min(end, state.head), maxBytes);
  const now = await readSession(importer.table, sessionKey);
  if (now?.sessionId !== state.sessionId || now.first !== state.first)
    throw new PeerError(code.conflict, "the conversation has changed; try again", { retryable: true });
  const next = read[end - state.first];
  // Between a tool call and its result no conversation can go on.
  if (next && next.role !== "user")
    throw new PeerError(code.badRequest, `seq: message ${end} is not a user's`);
  const fork = `agent:${agentIdOf(sessionKey)}:fork-${forkId.toLowerCase()}`;
  const messages = await copyFiles(importer.bucket, read.slice(0, end - state.first), sessionKey, fork);
  const inherited = { ...inheritedFrom(state), origins: originsOfSession(state, read) };
  await importConversation(importer, { sessionKey: fork, sessionId: forkId, messages, inherited });
  return { sessionKey: fork, sessionId: forkId, messages: messages.length };
}

function inheritedFrom({ settings, label, private: isPrivate }: SessionState): Partial<SessionState> {
  return {
    settings,
    ...(label === undefined ? {} : { label }),
    ...(isPrivate ? { private: true } : {}),
  };
}

/** The messages with the keys of copies of their files, because a reset of the old session deletes its own. */
async function copyFiles(
  bucket: Bucket,
  messages: readonly Message[],
  from: string,
  to: string,
): Promise<Message[]> {
  const [old, prefix] = [mediaPrefix(from), mediaPrefix(to)];
  const text = JSON.stringify(messages);
  const names = new Set(
    text.split(old).flatMap((rest, i) => (i === 0 ? [] : (/^[\w-]+\.\w+/.exec(rest) ?? []))),
  );
  for (const name of names) {
    const file = await bucket.get(old + name);
    if (!file) continue;
    const { body, contentType, metadata } = file;
    const typed = contentType === undefined ? {} : { contentType };
    await bucket.put(prefix + name, body, { ...typed, metadata: { ...metadata, sessionKey: to } });
  }
  return JSON.parse(text.replaceAll(old, prefix));
}
