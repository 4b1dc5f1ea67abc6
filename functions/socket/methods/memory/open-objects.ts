import {
  type Conversation,
  findEntry,
  type ObjectEntry,
  objectsOf,
  unwrapped,
} from "../../../../shared/objects/object-entries.ts";
import { promptUses } from "../../../../shared/objects/prompt-object.ts";
import { readText } from "../../../../shared/objects/text-store.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import type { Message } from "../../../../shared/protocol/messages.ts";
import { agentIdOf } from "../../../../shared/session/key/session-key.ts";
import { readSession } from "../../../../shared/session/sessions.ts";
import { readConversation } from "../../../../shared/session/whole-conversation.ts";
import type { Gateway } from "../../gateway.ts";
import { canonicalKey } from "../chat.ts";
import { clientChanges, setsOf } from "./session-sets.ts";

/** Most of a conversation that objects are made of, in bytes of JSON. */
const mostBytes = 16 * 1024 * 1024;

/** Prompt texts that are read at a time. */
const readAtOnce = 20;

/** A conversation of a session, or the present one. */
interface ConversationName {
  sessionKey: string;
  sessionId?: string;
}

/**
 * Reads the conversation that objects are made of. The texts of its prompts are left out.
 * @throws PeerError 404 when there is none, or it belongs to another session; 413 when it is too large
 */
export async function openObjects(gateway: Gateway, name: ConversationName): Promise<Conversation> {
  const sessionKey = await canonicalKey(gateway, name.sessionKey);
  const agentId = agentIdOf(sessionKey);
  const state = await readSession(gateway.table, sessionKey);
  const sessionId = name.sessionId ?? state?.sessionId;
  if (sessionId === undefined) throw nothingSaid(sessionKey);
  const read = await readConversation(gateway, { agentId, sessionId, sessionKey }, mostBytes);
  if (read.sessionKey !== sessionKey) {
    const message = `no conversation ${sessionId} of session ${sessionKey}: name its session, or one of its conversations (session.history lists them)`;
    throw new PeerError(code.notFound, message);
  }
  const { messages } = read;
  const isLive = state?.sessionId === sessionId;
  const changes = isLive ? await clientChanges(gateway, state, messages.length) : [];
  return { agentId, sessionKey, sessionId, messages, prompts: new Map(), setsAt: setsOf(messages, changes) };
}

function nothingSaid(sessionKey: string): PeerError {
  return new PeerError(code.notFound, `session ${sessionKey} has no objects: nothing was said in it yet`);
}

/**
 * Finds an object by its id: in the conversation that the id names, if it names one.
 * @throws PeerError 404 when there is none
 */
export async function openObject(
  gateway: Gateway,
  name: ConversationName & { id: string },
): Promise<ObjectEntry> {
  const id = unwrapped(name.id);
  const conversation = await openObjects(gateway, { sessionId: sessionIdIn(id), ...name });
  const needsPrompts = /^(session|system_prompt):/.test(id);
  const prompts = needsPrompts ? await readPrompts(gateway, conversation) : conversation.prompts;
  const entry = findEntry(objectsOf({ ...conversation, prompts }), id);
  if (entry) return entry;
  const { sessionId, sessionKey } = conversation;
  const message = `no object ${id} in conversation ${sessionId} of session ${sessionKey}; object.list lists its objects`;
  throw new PeerError(code.notFound, message);
}

/** The ids of chats and prompts end in that of their conversation. */
function sessionIdIn(id: string): string | undefined {
  return /^(?:chat|system_prompt:[^:]+):([\w-]{1,64})$/.exec(id)?.[1];
}

async function readPrompts(
  { bucket }: Pick<Gateway, "bucket">,
  { agentId, messages }: { agentId: string; messages: readonly Message[] },
): Promise<ReadonlyMap<string, string>> {
  const hashes = [...new Set(promptUses(messages).map(({ hash }) => hash))];
  const texts = new Map<string, string>();
  for (let start = 0; start < hashes.length; start += readAtOnce) {
    const read = hashes.slice(start, start + readAtOnce).map(async (hash) => {
      const text = await readText(bucket, agentId, hash);
      if (text !== undefined) texts.set(hash, text);
    });
    await Promise.all(read);
  }
  return texts;
}
