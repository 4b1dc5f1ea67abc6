import { absent, any, atMost } from "../aws/expression.ts";
import { ConditionFailed, type Table } from "../aws/table.ts";
import type { Message } from "../protocol/messages.ts";
import { type Lease, LeaseLost } from "./lease.ts";
import { messageKey, type SessionState } from "./state.ts";

/**
 * Writes messages at `seq`, `seq + 1`, … They count only once a commit has moved `head` over them; until then the next
 * owner overwrites them. @throws LeaseLost when a newer owner has written there
 */
export async function writeMessages(
  table: Table,
  lease: Lease,
  sessionId: string,
  seq: number,
  messages: readonly Message[],
): Promise<void> {
  const unless = any(absent("pk"), atMost("epoch", lease.epoch));
  const writes = messages.map((message, i) => {
    const key = messageKey(lease.sessionKey, sessionId, seq + i);
    return table.put({ ...key, epoch: lease.epoch, body: JSON.stringify(message) }, unless);
  });
  try {
    await Promise.all(writes);
  } catch (error) {
    if (error instanceof ConditionFailed) throw new LeaseLost(lease.sessionKey);
    throw error;
  }
}

/** The live messages `from … to` (both inclusive) in order; by default all of them. */
export async function readMessages(
  table: Table,
  state: Pick<SessionState, "sessionKey" | "sessionId" | "first" | "head">,
  from = state.first,
  to = state.head,
): Promise<Message[]> {
  if (to < from) return [];
  const items = await table.query({
    pk: messageKey(state.sessionKey, state.sessionId, from).pk,
    from: messageKey(state.sessionKey, state.sessionId, from).sk,
    to: messageKey(state.sessionKey, state.sessionId, to).sk,
  });
  return items.map((item) => JSON.parse(String(item.body)) as Message);
}

/** Deletes messages `from … to` (both inclusive), some at a time. Deleting what is gone already is not an error. */
export async function deleteMessages(
  table: Table,
  sessionKey: string,
  sessionId: string,
  from: number,
  to: number,
): Promise<void> {
  const atOnce = 20;
  for (let start = from; start <= to; start += atOnce) {
    const end = Math.min(to, start + atOnce - 1);
    const seqs = Array.from({ length: end - start + 1 }, (_, i) => start + i);
    await Promise.all(seqs.map((seq) => table.delete(messageKey(sessionKey, sessionId, seq))));
  }
}
