import { absent, all, equal, set } from "../world/expression.ts";
import { type ItemValue, succeeds, type Table } from "../world/world.ts";
import { unbegun } from "./dequeue.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import { metaKey, type SessionState, toState } from "./state.ts";

/** Max entries that a message is moved past: a DynamoDB expression has at most 4 KB. */
const maxMoved = 20;

/**
 * Moves an entry that was appended before the entries of its conversation that were sent later: platforms may deliver messages
 * in another order. Costs nothing when the order is right.
 *
 * Without a run, the oldest entry and others of its album stay: the agent may be about to begin them (as in `dequeue`).
 * @param id of the entry. The session's copy is moved: that of a redelivery may have another time, or the text before an edit.
 * @param state the session after the entry was appended
 */
export async function orderEntry(
  table: Table,
  { sessionKey }: Pick<SessionState, "sessionKey">,
  id: string,
  state: SessionState,
): Promise<void> {
  const key = metaKey(sessionKey);
  for (let seen = state; ; ) {
    const { run, inbox } = seen;
    const from = inbox.findIndex((one) => one.id === id);
    const entry = inbox[from];
    if (!entry) return;
    const free = new Set(unbegun(seen).map(({ at }) => at));
    const start = inbox.findLastIndex((_, at) => at <= from && !free.has(at)) + 1;
    const to = inbox.findIndex((other, at) => at >= start && at < from && isBefore(entry, other));
    if (to < 0 || from - to > maxMoved) return;
    const before = inbox.slice(to, from + 1);
    const after = [entry, ...before.slice(0, -1)];
    const isSame = all(
      run ? equal(["run", "runId"], run.runId) : absent("run"),
      ...before.map((other, at) => equal(["inbox", to + at, "id"], other.id)),
      // Shifted texts must be the newest ones: an edit replaces an entry in place.
      ...before.map((other, at) => {
        const path = ["inbox", to + at, "correction"];
        const correction = other.kind === "message" ? other.correction : undefined;
        return correction ? equal([...path, "at"], correction.at) : absent(path);
      }),
    );
    const steps = after.map((moved, at) => set(["inbox", to + at], moved as unknown as ItemValue));
    if (await succeeds(table.update(key, steps, isSame))) return;
    const item = await table.get(key);
    if (!item) return;
    seen = toState(item);
  }
}

/** Whether an entry was sent before another one of its conversation. */
function isBefore({ sentAt, origin }: InboxEntry, other: InboxEntry): boolean {
  if (sentAt === undefined || other.sentAt === undefined) return false;
  if (origin.kind !== "channel" || other.origin.kind !== "channel") return false;
  const isSameRoom =
    origin.channel === other.origin.channel &&
    origin.accountId === other.origin.accountId &&
    origin.peer.id === other.origin.peer.id;
  if (!isSameRoom || sentAt > other.sentAt) return false;
  return sentAt < other.sentAt || isLowerNumber(origin.replyToId, other.origin.replyToId);
}

/**
 * Compares ids that are ascending numbers, as Telegram, Slack and Discord give to the messages of a conversation: their times may
 * be equal.
 */
function isLowerNumber(id = "", other = ""): boolean {
  const [left, right] = [id, other].map((one) => one.replace(".", ""));
  if (!/^\d+$/.test(`${left}${right}`) || left === "" || right === "") return false;
  return BigInt(left ?? "") < BigInt(right ?? "");
}
