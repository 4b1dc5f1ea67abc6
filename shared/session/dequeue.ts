import { absent, add, all, equal, remove } from "../world/expression.ts";
import { ConditionFailed, type Table } from "../world/world.ts";
import { acceptStep, entryBytes, notAccepted, wasAccepted } from "./inbox.ts";
import type { InboxEntry, Writer } from "./inbox-entry.ts";
import { metaKey, type SessionState, toState } from "./state.ts";
import { isSameGuest } from "./stop.ts";

/** Max entries that one request removes: a DynamoDB expression has at most 4 KB. */
const maxRemoved = 50;

/**
 * Removes messages and commands from a session's inbox that have not begun. They stay accepted, so a repeat of one is not
 * queued again. A guest removes only messages of the same guest.
 *
 * Without a run, the oldest entry is left: the agent may be about to begin it, and commits that under the condition that it
 * is the oldest (`requestStop` stops it). The condition names the run, so that none ends meanwhile.
 * @param id the request's id; a retry has the same
 * @param ids of the entries to remove; others are ignored, as are the gateway's own messages
 * @returns the ids of the removed entries, oldest first
 */
export async function dequeue(
  table: Table,
  sessionKey: string,
  id: string,
  ids: readonly string[],
  now: number,
  by: Writer = {},
): Promise<string[]> {
  const key = metaKey(sessionKey);
  const request = `dequeue:${id}`;
  for (let tried: string[] = []; ; ) {
    const item = await table.get(key);
    if (!item) return [];
    const state = toState(item);
    // The SDK repeats a write whose response was lost.
    if (wasAccepted(state, request)) return tried;
    const found = removable(state, ids, by).slice(0, maxRemoved);
    if (found.length === 0) return [];
    tried = found.map(({ entry }) => entry.id);
    const bytes = found.reduce((sum, { entry }) => sum + entryBytes(entry), 0);
    const steps = [...found.map(({ at }) => remove(["inbox", at])), add("inboxBytes", -bytes)];
    const unchanged = found.map(({ at, entry }) => equal(["inbox", at, "id"], entry.id));
    const during = state.run ? equal(["run", "runId"], state.run.runId) : absent("run");
    try {
      const condition = all(during, notAccepted(request), ...unchanged);
      await table.update(key, [...steps, acceptStep(request, now)], condition);
      return tried;
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/** The entries that no agent may be about to begin, with their places: without a run, neither the oldest nor others of its album. */
export function unbegun({ run, inbox }: Pick<SessionState, "run" | "inbox">) {
  const albumOf = (entry: InboxEntry | undefined) => (entry?.kind === "message" ? entry.album : undefined);
  const album = albumOf(inbox[0]);
  return inbox
    .map((entry, at) => ({ entry, at }))
    .filter(({ entry, at }) => run || (at > 0 && (album === undefined || albumOf(entry) !== album)));
}

function removable({ run, inbox }: SessionState, ids: readonly string[], by: Writer) {
  return unbegun({ run, inbox })
    .filter(({ entry }) => ids.includes(entry.id) && isOfPerson(entry))
    .filter(({ entry }) => by.role !== "guest" || isSameGuest(by, entry));
}

/** Whether a person sent the entry. Somebody waits for the answer to a task, and a reset by policy is repeated anyway. */
function isOfPerson(entry: InboxEntry): boolean {
  return entry.kind === "message" ? entry.task === undefined : "via" in entry && entry.via === "command";
}
