import { joinOrigins } from "../origins/origins.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { absent, add, all, below, equal, set } from "../world/expression.ts";
import { type ItemValue, succeeds, type Table } from "../world/world.ts";
import { unbegun } from "./dequeue.ts";
import {
  acceptStep,
  editStep,
  entryBytes,
  isNewestEdit,
  isOutdated,
  maxInboxBytes,
  notAccepted,
  wasAccepted,
} from "./inbox.ts";
import type { Correction, InboxEntry } from "./inbox-entry.ts";
import { metaKey, type SessionState, toState } from "./state.ts";

export type MessageEntry = Extract<InboxEntry, { kind: "message" }>;

type Edit = MessageEntry & { correction: Correction };

/**
 * Replaces the text and the files of a message in the inbox by those of its edit, if its run has not begun. The entry keeps
 * its id, time, origin and writer. An entry of an earlier edit of the message is replaced, too.
 *
 * Without a run, the oldest entry is left: the agent may be about to begin it (as in `dequeue`).
 * @param plain the edit, for the entry of the message itself; its id is that of the edit, so that a repeat changes nothing
 * @param marked the edit, for an entry of an earlier edit
 * @returns true if the inbox has this edit or a later one, or had this one; false if the edit needs an entry of its own
 * @throws PeerError 429, retryable, when the edit is longer and the inbox is full
 */
export async function correctEntry(
  table: Table,
  sessionKey: string,
  plain: Edit,
  marked: Edit,
  now: number,
): Promise<boolean> {
  const key = metaKey(sessionKey);
  for (;;) {
    const item = await table.get(key);
    if (!item) return false;
    const state = toState(item);
    if (wasAccepted(state, plain.id) || isOutdated(state, plain.correction)) return true;
    const found = findEntry(state, plain);
    if (!found) return false;
    const { at, entry } = found;
    if ((entry.correction?.at ?? 0) >= plain.correction.at) return true;
    const next = corrected(entry, entry.id === plain.correction.of ? plain : marked);
    const bytes = entryBytes(next) - entryBytes(entry);
    if (bytes > 0 && state.inboxBytes >= maxInboxBytes)
      throw new PeerError(code.rateLimited, "the session's inbox is full; try again in a moment", {
        retryable: true,
      });
    const path = ["inbox", at];
    const isSame = all(
      state.run ? equal(["run", "runId"], state.run.runId) : absent("run"),
      equal([...path, "id"], entry.id),
      entry.correction
        ? equal([...path, "correction", "at"], entry.correction.at)
        : absent([...path, "correction"]),
      notAccepted(plain.id),
      isNewestEdit(plain.correction),
      ...(bytes > 0 ? [below("inboxBytes", maxInboxBytes)] : []),
    );
    const steps = [
      set(path, next as unknown as ItemValue),
      add("inboxBytes", bytes),
      acceptStep(plain.id, now),
      editStep(plain.correction),
    ];
    if (await succeeds(table.update(key, steps, isSame))) return true;
  }
}

/** The newest entry of the edited message that may be replaced: only one of the same writer. */
function findEntry({ run, inbox }: SessionState, { correction: { of }, role, senderId }: Edit) {
  return unbegun({ run, inbox })
    .flatMap(({ entry, at }) => (entry.kind === "message" ? [{ entry, at }] : []))
    .findLast(
      ({ entry }) =>
        (entry.id === of || entry.correction?.of === of) &&
        entry.role === role &&
        entry.senderId === senderId,
    );
}

function corrected(
  entry: MessageEntry,
  { text, media, attachments, overrides, ...edit }: Edit,
): MessageEntry {
  const { text: _text, media: _media, attachments: _files, overrides: _overrides, ...kept } = entry;
  const origins = joinOrigins(entry.origins, edit.origins);
  return {
    ...kept,
    text,
    correction: edit.correction,
    ...(media ? { media } : {}),
    ...(attachments ? { attachments } : {}),
    ...(overrides ? { overrides } : {}),
    ...(origins.length > 0 ? { origins } : {}),
  };
}
