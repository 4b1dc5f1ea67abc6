import type { Message } from "../../../shared/protocol/messages.ts";
import { entryBytes } from "../../../shared/session/inbox.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { messageKey, type SessionState } from "../../../shared/session/state.ts";
import type { Item, Key } from "../../../shared/world/world.ts";
import { readScript } from "../load/script.ts";
import type { Ledger } from "./ledger.ts";

/** Reads the current item. */
export type Look = (key: Key) => Item | undefined;

/** A write of a session's item. */
export interface Change {
  before: SessionState | undefined;
  after: SessionState;
  /** The machine that wrote. A machine for a request is named after it: `{request}/{number}`. */
  writer: string;
  /** The services' time in epoch ms. */
  now: number;
  /** How long the session has waited for its turns so far. Milliseconds. */
  waited: number;
  /** Whether no fault has happened yet. */
  isCalm: boolean;
}

/** Checks a write of a session's item, and records its events. */
export function watchSession(ledger: Ledger, change: Change, look: Look): void {
  const { before, after } = change;
  const name = after.sessionKey;
  const fault = (what: string) => ledger.fault(`${name}: ${what}`);
  if (!before) ledger.add(ledger.conversations, name, after.sessionId);
  const old = before ?? { ...after, inbox: [], recent: {}, head: 0, run: undefined };
  checkLease(change, fault);
  if (before && after.epoch > before.epoch) ledger.holders.set(name, change.writer);
  checkInbox(ledger, old, after, fault);
  checkRun(ledger, old, after, fault);
  checkStop(ledger, old, change, fault);
  checkTime(ledger, change, fault);
  if (old.sessionId === after.sessionId) checkTranscript(ledger, old, after, look, fault);
  else checkReset(ledger, old, after, fault);
}

type Fault = (what: string) => void;

/** A run that takes longer in its turns has waited for a timeout or a sweep; a stopped one ends sooner. Milliseconds. */
const longestRun = 55_000;
const longestStop = 15_000;

/** Without faults, nothing waits for a timeout that exists only for faults. */
function checkTime(ledger: Ledger, { before, after, now, waited, isCalm }: Change, fault: Fault): void {
  const time = now - waited;
  const begun = after.run && ledger.entries.get(after.run.runId);
  if (begun) begun.begunAt ??= time;
  const ended = before?.run && before.run.runId !== after.run?.runId && ledger.entries.get(before.run.runId);
  const stopped = after.stop === undefined ? undefined : ledger.entries.get(after.stop);
  if (stopped) stopped.stoppedAt ??= time;
  if (!ended || !isCalm) return;
  if (time - (ended.begunAt ?? time) > longestRun) fault(`run ${ended.id} took too long`);
  if (time - (ended.stoppedAt ?? time) > longestStop) fault(`the stop of ${ended.id} took too long`);
}

function checkLease({ before, after, now }: Change, fault: Fault): void {
  if ((after.owner === undefined) !== (after.leaseUntil === undefined)) fault("a lease has no owner");
  if (!before) return;
  if (after.epoch < before.epoch) fault("the epoch went back");
  if (after.epoch > before.epoch + 1) fault("the epoch increased by more than one");
  const isTaken = after.epoch > before.epoch && before.leaseUntil !== undefined;
  // Clocks differ by less than the tolerance.
  if (isTaken && Number(before.leaseUntil) > now + 10_000) fault("an unexpired lease was acquired");
}

function checkInbox(ledger: Ledger, before: SessionState, after: SessionState, fault: Fault): void {
  const bytes = after.inbox.reduce((sum, entry) => sum + entryBytes(entry), 0);
  if (bytes !== after.inboxBytes) fault(`inboxBytes is ${after.inboxBytes} for ${bytes} bytes`);
  if (isMove(before.inbox, after.inbox)) return;
  const [first, ...rest] = before.inbox;
  const isTakenOut = first !== undefined && after.inbox[0]?.id !== first.id;
  const kept = new Set(after.inbox.map(({ id }) => id));
  const parts = isTakenOut ? rest.filter((entry) => !kept.has(entry.id) && isSameAlbum(first, entry)) : [];
  const left = (isTakenOut ? rest : before.inbox).filter((entry) => !parts.includes(entry));
  if (left.some((entry, i) => after.inbox[i]?.id !== entry.id)) fault("the order of the inbox changed");
  if (isTakenOut) noteTaken(ledger, after, [first, ...parts], fault);
  for (const entry of after.inbox.slice(left.length)) noteArrived(ledger, after.sessionKey, entry, fault);
}

/** Whether only one message has moved, before one that was written later. */
function isMove(before: readonly InboxEntry[], after: readonly InboxEntry[]): boolean {
  const from = before.findLastIndex((entry, at) => after[at]?.id !== entry.id);
  const to = before.findIndex((entry, at) => after[at]?.id !== entry.id);
  const [moved, passed] = [before[from], before[to]];
  if (before.length !== after.length || !moved?.sentAt || !passed?.sentAt) return false;
  const expected = before.toSpliced(from, 1).toSpliced(to, 0, moved);
  return moved.sentAt <= passed.sentAt && expected.every(({ id }, at) => after[at]?.id === id);
}

function noteArrived(ledger: Ledger, sessionKey: string, entry: InboxEntry, fault: Fault): void {
  const { id } = entry;
  if (ledger.entries.has(id)) fault(`${id} was accepted twice`);
  ledger.entries.set(id, { id, sessionKey, entry, isTaken: false });
}

/** Whether an entry is another part of a message's album. */
function isSameAlbum(first: InboxEntry, other: InboxEntry): boolean {
  if (first.kind !== "message" || other.kind !== "message") return false;
  return first.album !== undefined && first.album === other.album;
}

/** @param entries a message with the other parts of its album, or another entry */
function noteTaken(
  ledger: Ledger,
  after: SessionState,
  entries: readonly [InboxEntry, ...InboxEntry[]],
  fault: Fault,
): void {
  const [first] = entries;
  for (const { id } of entries) {
    const sent = ledger.entries.get(id);
    if (!sent) fault(`${id} was removed but never accepted`);
    else {
      sent.isTaken = true;
      if (id !== first.id) sent.isPart = true;
    }
  }
  // The parts' texts come in the order in which they were written.
  const texts = entries.flatMap((entry) => (entry.kind === "message" ? [entry] : [])).toSorted(byPlace);
  const script = readScript(texts.map(({ text }) => text).join("\n"));
  if (script) ledger.turns.push(script.number);
  if (first.kind === "message" && after.run?.runId !== first.id)
    fault(`message ${first.id} was removed without a run`);
}

type MessageEntry = Extract<InboxEntry, { kind: "message" }>;

const placeOf = ({ origin }: MessageEntry) => Number(origin.kind === "channel" ? origin.replyToId : 0);
const byPlace = (a: MessageEntry, b: MessageEntry) => placeOf(a) - placeOf(b);

function checkRun(ledger: Ledger, before: SessionState, after: SessionState, fault: Fault): void {
  const { run: old } = before;
  const { run } = after;
  if (run && Object.keys(run.pending).length !== run.pendingCount)
    fault(`run ${run.runId} waits for ${run.pendingCount} calls, and names others`);
  if (old && run?.runId !== old.runId) {
    const sent = ledger.entries.get(old.runId);
    if (run) fault(`run ${run.runId} began before ${old.runId} had ended`);
    if (!sent) {
      fault(`run ${old.runId} had no message`);
      return;
    }
    if (sent.outcome) fault(`run ${old.runId} ended twice`);
    const isStopped = before.stop === old.runId;
    if (!isStopped && old.phase !== "reply") fault(`run ${old.runId} ended without an answer`);
    sent.outcome = isStopped ? "stopped" : old.failure === undefined ? "answered" : "failed";
  }
  if (run && old?.runId !== run.runId) {
    if (ledger.begun.get(after.sessionKey)?.includes(run.runId)) fault(`run ${run.runId} began twice`);
    ledger.add(ledger.begun, after.sessionKey, run.runId);
    if (before.inbox[0]?.id !== run.runId) fault(`run ${run.runId} was not at the head of the inbox`);
  }
}

/** A stop stays until its run has ended, and one request stops only one run. */
function checkStop(ledger: Ledger, before: SessionState, { after, writer }: Change, fault: Fault): void {
  if (before.stop === after.stop) return;
  const isOver = before.run?.runId === before.stop && after.run?.runId !== before.stop;
  if (before.stop !== undefined && !isOver) fault(`the stop of ${before.stop} was lost`);
  if (after.stop === undefined) return;
  const request = writer.replace(/\/\d+$/, "");
  const stopped = ledger.stops.get(request) ?? new Set();
  stopped.add(after.stop);
  ledger.stops.set(request, stopped);
  if (stopped.size > 1) fault(`${request} stopped ${[...stopped].join(" and ")}`);
  if (after.run?.runId !== after.stop && after.inbox[0]?.id !== after.stop)
    fault(`${request} stops ${after.stop}, which does not run`);
}

function checkTranscript(
  ledger: Ledger,
  before: SessionState,
  after: SessionState,
  look: Look,
  fault: Fault,
): void {
  if (after.head < before.head) fault("the head went back");
  if (after.first > after.head + 1) fault("more messages were cleared than there were");
  if (after.first !== before.first) {
    if (after.first !== before.head + 1)
      fault("a compaction does not start after the messages that it replaces");
    return;
  }
  for (let seq = before.head + 1; seq <= after.head; seq++) {
    const item = look(messageKey(after.sessionKey, after.sessionId, seq));
    if (!item) {
      fault(`message ${seq} was committed but does not exist`);
      return;
    }
    if (item.epoch !== after.epoch) fault(`message ${seq} was not committed by its writer`);
    ledger.add(ledger.said, after.sessionId, JSON.parse(String(item.body)) as Message);
  }
}

function checkReset(ledger: Ledger, before: SessionState, after: SessionState, fault: Fault): void {
  const { resetting } = before;
  if (resetting?.newSessionId !== after.sessionId) fault("the conversation's id changed without a reset");
  if (before.run) fault("a reset came in the middle of a run");
  if (after.head !== 0 || after.first !== 1) fault("a new conversation is not empty");
  if (before.head >= before.first && resetting?.archivedTo === undefined)
    fault("a conversation was cleared but not archived");
  ledger.add(ledger.conversations, after.sessionKey, after.sessionId);
}
