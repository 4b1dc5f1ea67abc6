import { code, PeerError } from "../protocol/errors.ts";
import type { Message } from "../protocol/messages.ts";
import { set } from "../world/expression.ts";
import type { Bucket, ItemValue } from "../world/world.ts";
import { findArchives } from "./archive.ts";
import { type Holder, holdBriefly, isAtRest } from "./brief-hold.ts";
import { listSteps } from "./due.ts";
import { agentIdOf } from "./key/session-key.ts";
import { commit, type Lease, renew } from "./lease.ts";
import { patchSession, readSession } from "./sessions.ts";
import { assign, metaKey, type SessionState } from "./state.ts";
import { writeMessages } from "./transcript.ts";

/** Messages written per batch; the lease is renewed after each batch. */
const writtenAtOnce = 25;

/** The dependencies of an import. */
export type Importer = Holder & { bucket: Bucket };

/** A conversation to import into a session without messages. */
export interface ImportedConversation {
  /** Canonical. */
  sessionKey: string;
  /** The id of the new conversation: a UUID. A repeat with the same id is the same import. */
  sessionId: string;
  messages: readonly Message[];
  /** Other fields of the session. */
  inherited?: Partial<Pick<SessionState, "settings" | "label" | "private" | "origins">>;
}

/**
 * Imports messages into a session that has none. All of them appear at once: until the last write the session stays empty.
 * After a crash, repeat the same import.
 * @throws PeerError 409 when the session already has messages or the id belongs to another conversation; 409, retryable,
 * while another invocation holds the session
 */
export async function importConversation(importer: Importer, imported: ImportedConversation): Promise<void> {
  const { table, bucket, now } = importer;
  const { sessionKey, sessionId } = imported;
  const before = await readSession(table, sessionKey);
  if (isImported(before, imported)) return;
  if (before) checkEmpty(before);
  const { parts, final } = await findArchives(bucket, agentIdOf(sessionKey), sessionId);
  if (final !== undefined || parts.length > 0)
    throw new PeerError(code.conflict, `importId: ${sessionId} is the id of another conversation`);
  if (!before) await patchSession(table, sessionKey, {}, now());
  await holdBriefly(importer, sessionKey, async ({ lease, state }) => {
    if (isImported(state, imported)) return 0;
    checkEmpty(state);
    await write(importer, lease, imported);
    return 1;
  });
}

async function write(importer: Importer, lease: Lease, imported: ImportedConversation): Promise<void> {
  const { table, now } = importer;
  const { sessionId, messages, inherited = {} } = imported;
  for (let start = 0; start < messages.length; start += writtenAtOnce) {
    const some = messages.slice(start, start + writtenAtOnce);
    await writeMessages(importer, lease, sessionId, start + 1, some);
    await renew(table, lease, now());
  }
  await commit(table, lease, [
    assign("sessionId", sessionId),
    assign("first", 1),
    assign("head", messages.length),
    assign("updatedAt", now()),
    ...listSteps(metaKey(lease.sessionKey), now()),
    ...Object.entries(inherited).map(([name, value]) => set(name, value as unknown as ItemValue)),
  ]);
}

function isImported(state: SessionState | undefined, { sessionId, messages }: ImportedConversation): boolean {
  return state?.sessionId === sessionId && state.head >= messages.length;
}

function checkEmpty(state: SessionState): void {
  const { sessionKey, head } = state;
  if (head === 0 && isAtRest(state)) return;
  const message = `${sessionKey} has a conversation already; import into a session of a new name, or reset this one first`;
  throw new PeerError(code.conflict, message);
}
