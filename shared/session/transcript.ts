import { code, PeerError } from "../protocol/errors.ts";
import type { Message } from "../protocol/messages.ts";
import { parseMessage } from "../protocol/stored-message.ts";
import { absent, any, atMost, equal, set } from "../world/expression.ts";
import { type Bucket, ConditionFailed, succeeds } from "../world/world.ts";
import { bodySize, deleteBody, readBodies, type SessionStore, storeBody } from "./bodies.ts";
import { agentIdOf } from "./key/session-key.ts";
import { type Lease, LeaseLost } from "./lease.ts";
import { messageKey, metaKey, type SessionState, toState } from "./state.ts";

/**
 * Writes messages at `seq`, `seq + 1`, … They become part of the conversation when a commit moves `head` past
 * them. Until then the next owner may overwrite them. The body of a message above 300 KB is stored in the
 * bucket.
 * @throws LeaseLost when a newer owner has already written one of these messages
 */
export async function writeMessages(
  { table, bucket }: SessionStore,
  lease: Lease,
  sessionId: string,
  seq: number,
  messages: readonly Message[],
): Promise<void> {
  const unless = any(absent("pk"), atMost("epoch", lease.epoch));
  const writes = messages.map(async (message, i) => {
    const key = messageKey(lease.sessionKey, sessionId, seq + i);
    const body = await storeBody(bucket, JSON.stringify(message), () =>
      messageBodyKey(lease, sessionId, seq + i),
    );
    await table.put({ ...key, epoch: lease.epoch, ...body }, unless);
  });
  // All have ended before this rejects, so that `expireStray` finds each message that was written.
  const results = await Promise.allSettled(writes);
  const errors = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  if (errors.some((error) => error instanceof ConditionFailed)) throw new LeaseLost(lease.sessionKey);
  if (errors.length > 0) throw errors[0];
}

/** TTL of messages that were written into a conversation after its end, in seconds. */
const strayTtlSeconds = 24 * 3600;

/**
 * Sets a TTL on messages that a writer wrote after it had lost the session: if the conversation was reset or compacted
 * meanwhile, nobody would overwrite or delete them. Live messages are not changed: some may be committed, and the next
 * writer overwrites the others.
 * @param now epoch ms
 */
export async function expireStray(
  { table }: Pick<SessionStore, "table">,
  lease: Lease,
  sessionId: string,
  seqs: readonly number[],
  now: number,
): Promise<void> {
  const item = await table.get(metaKey(lease.sessionKey));
  const state = item && toState(item);
  // A reset deletes the messages after it has set `mediaDeleted`; all of them are archived by then.
  const isOver = state?.sessionId !== sessionId || state.resetting?.mediaDeleted !== undefined;
  const stray = isOver ? seqs : seqs.filter((seq) => seq < state.first);
  if (stray.length === 0) return;
  const expires = [set("expiresAt", Math.floor(now / 1000) + strayTtlSeconds)];
  const mine = equal("epoch", lease.epoch);
  const keys = stray.map((seq) => messageKey(lease.sessionKey, sessionId, seq));
  await Promise.all(keys.map((key) => succeeds(table.update(key, expires, mine))));
}

/**
 * The key contains the epoch, so that an owner that lost its lease cannot overwrite bodies of the next owner.
 */
function messageBodyKey({ sessionKey, epoch }: Lease, sessionId: string, seq: number): string {
  const name = `${String(seq).padStart(10, "0")}-${epoch}`;
  return `${messageBodiesPrefix(sessionKey, sessionId)}${name}.json`;
}

function messageBodiesPrefix(sessionKey: string, sessionId: string): string {
  return `agents/${agentIdOf(sessionKey)}/sessions/${sessionId}/messages/`;
}

/**
 * The live messages `from … to` (both inclusive) in order; by default all of them.
 * @param maxBytes limit of their total size, in bytes of JSON
 * @throws PeerError 413 when they are larger than `maxBytes`
 */
export async function readMessages(
  { table, bucket }: SessionStore,
  state: Pick<SessionState, "sessionKey" | "sessionId" | "first" | "head">,
  from = state.first,
  to = state.head,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Message[]> {
  if (to < from) return [];
  const items = await table.query({
    pk: messageKey(state.sessionKey, state.sessionId, from).pk,
    from: messageKey(state.sessionKey, state.sessionId, from).sk,
    to: messageKey(state.sessionKey, state.sessionId, to).sk,
  });
  const bytes = items.reduce((sum, item) => sum + bodySize(item), 0);
  if (bytes > maxBytes) {
    const message = `these messages have ${bytes} bytes; the limit is ${maxBytes}. Ask for fewer.`;
    throw new PeerError(code.tooLarge, message);
  }
  const bodies = await readBodies(bucket, items);
  return bodies.map((body, i) => {
    if (body === undefined) throw new Error(`the body of message ${items[i]?.sk} is missing`);
    return parseMessage(body);
  });
}

/** Messages that `streamMessages` reads per batch. */
const streamedAtOnce = 16;

/** All live messages in order, read in batches while the caller consumes them. */
export async function* streamMessages(
  store: SessionStore,
  state: Pick<SessionState, "sessionKey" | "sessionId" | "first" | "head">,
): AsyncGenerator<Message> {
  for (let from = state.first; from <= state.head; from += streamedAtOnce) {
    yield* await readMessages(store, state, from, Math.min(state.head, from + streamedAtOnce - 1));
  }
}

/** The newest live messages in order. Reads whole batches until they have at least `maxBytes` of JSON. */
export async function newestMessages(
  store: SessionStore,
  state: Pick<SessionState, "sessionKey" | "sessionId" | "first" | "head">,
  maxBytes: number,
): Promise<Message[]> {
  let messages: Message[] = [];
  let bytes = 0;
  for (let to = state.head; to >= state.first && bytes < maxBytes; to -= streamedAtOnce) {
    const some = await readMessages(store, state, Math.max(state.first, to - streamedAtOnce + 1), to);
    bytes += Buffer.byteLength(JSON.stringify(some));
    messages = [...some, ...messages];
  }
  return messages;
}

/**
 * Deletes messages `from … to` (both inclusive), 20 in parallel. Messages that are already deleted are
 * ignored.
 */
export async function deleteMessages(
  { table, bucket }: SessionStore,
  sessionKey: string,
  sessionId: string,
  from: number,
  to: number,
): Promise<void> {
  const atOnce = 20;
  for (let start = from; start <= to; start += atOnce) {
    const end = Math.min(to, start + atOnce - 1);
    const seqs = Array.from({ length: end - start + 1 }, (_, i) => start + i);
    await Promise.all(
      seqs.map(async (seq) => {
        await deleteBody(bucket, await table.delete(messageKey(sessionKey, sessionId, seq)));
      }),
    );
  }
}

/**
 * Deletes all messages of a conversation, committed or not: first the items, then the large bodies. Do not
 * call it while the conversation is live. Safe to repeat.
 */
export async function clearMessages(
  { table, bucket }: SessionStore & { bucket: Pick<Bucket, "list"> },
  sessionKey: string,
  sessionId: string,
): Promise<void> {
  const { pk, sk } = messageKey(sessionKey, sessionId, 0);
  const prefix = sk.slice(0, sk.lastIndexOf("#") + 1);
  const atOnce = 20;
  for (;;) {
    const items = await table.query({ pk, prefix, limit: atOnce });
    await Promise.all(items.map((item) => table.delete({ pk, sk: String(item.sk) })));
    if (items.length < atOnce) break;
  }
  const { objects } = await bucket.list(messageBodiesPrefix(sessionKey, sessionId));
  for (const { key } of objects) await bucket.delete(key);
}
