import { type AssistantMessage, type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import type { Run } from "../../shared/session/run.ts";
import { messageKey, needsAgent, type SessionState } from "../../shared/session/state.ts";
import { transcriptFault } from "./model/programs.ts";
import { itemName, type Snapshot, sessionKey } from "./model/snapshot.ts";
import { acceptedIds, isCommand, leftoverMessages, saidIn, transcriptOf } from "./said.ts";

/** The rules that a change of the table breaks. */
export function changeFaults(before: Snapshot, after: Snapshot): string[] {
  const old = before.session;
  const now = after.session;
  if (old && !now) return ["the session was deleted"];
  if (!now) return [];
  const faults = old
    ? [...sessionFaults(old, now), ...requestFaults(old, now), ...saidFaults(before, after)]
    : [];
  if (old?.sessionId === now.sessionId) faults.push(...headFaults(after, old, now));
  return [...faults, ...entryFaults(after, now)];
}

function sessionFaults(old: SessionState, now: SessionState): string[] {
  const faults: string[] = [];
  if (now.epoch < old.epoch) faults.push("the epoch went back");
  const isEnd = old.run?.runId === old.stop && now.run?.runId !== old.stop;
  if (old.stop !== undefined && old.stop !== now.stop && !isEnd) faults.push("a stop was erased");
  const gone = old.inbox.filter(({ id }) => now.inbox.every((entry) => entry.id !== id));
  if (gone.some((entry) => entry !== old.inbox[0])) faults.push("an entry was removed before its turn");
  if (gone.some(({ kind }) => kind === "reset") && !old.resetting?.result)
    faults.push("a reset was removed before it was carried out");
  if (old.sessionId === now.sessionId) return faults;
  const [first] = old.inbox;
  const isAsked = first?.kind === "reset" && first.id === old.resetting?.entryId;
  if (!isAsked || now.sessionId !== old.resetting?.newSessionId || old.resetting.result)
    faults.push("a conversation ended without a reset");
  return faults;
}

/** A call to ask about runs only after one answer allowed it, and an answer has its consequence. */
function requestFaults({ run: old, stop }: SessionState, { run: now }: SessionState): string[] {
  if (!old || old.runId !== now?.runId || old.step !== now.step) return [];
  return Object.keys({ ...old.pending, ...now.pending }).flatMap((id) => {
    const [before, after] = [old.pending[id]?.approval, now.pending[id]?.approval];
    const given = before?.answer;
    // In later phases nothing is called any more: a stopped run may end with a call whose result came too late.
    const isCalled = now.phase === "tools" && now.pending[id]?.tool === "n__ask" && !after;
    const wasCalled = old.pending[id] !== undefined && !before;
    const result = now.results?.[id] ?? "";
    const faults: string[] = [];
    if (isCalled && !wasCalled && given?.decision !== "allow") faults.push(`${id} runs without an allow`);
    if (given && after?.answer && after.answer.by !== given.by)
      faults.push(`the answer to ${id} was replaced`);
    if (before && !given && after?.answer && stop === now.runId)
      faults.push(`${id} was answered after a stop`);
    const isDropped = given && !now.pending[id] && !result.includes("denied") && now.phase === "tools";
    if (isDropped && stop !== now.runId) faults.push(`the answer to ${id} was lost`);
    return faults;
  });
}

/** Committed messages stay in the same order, live or in an archive. */
function saidFaults(before: Snapshot, after: Snapshot): string[] {
  const said = saidIn(after);
  const lost = saidIn(before).findIndex((body, i) => body === undefined || body !== said[i]);
  return lost < 0 ? [] : [`committed message ${lost + 1} was changed or lost`];
}

/** The writer that moves the head must have written the messages below it. */
function headFaults(after: Snapshot, old: SessionState, now: SessionState): string[] {
  const faults = now.head < old.head ? ["the head went back"] : [];
  if (now.first < old.first) faults.push("the first message went back");
  for (let seq = old.head + 1; seq <= now.head; seq++) {
    const written = after.items.get(itemName(messageKey(sessionKey, now.sessionId, seq)));
    if (!written) faults.push(`the head was moved over message ${seq}, which does not exist`);
    else if (written.epoch !== now.epoch) faults.push(`message ${seq} was not committed by its writer`);
  }
  return faults;
}

interface Turn {
  id: string;
  messages: Message[];
}

function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ id: textOf(message), messages: [message] });
    else turns.at(-1)?.messages.push(message);
  }
  return turns;
}

/** Every accepted entry is in the inbox or the transcript, exactly once, and the transcript is in order. */
function entryFaults(table: Snapshot, session: SessionState): string[] {
  const faults: string[] = [];
  const messages = transcriptOf(table);
  const turns = turnsOf(messages);
  const seen = [...turns.map(({ id }) => id), ...session.inbox.map(({ id }) => id)];
  for (const id of new Set(seen)) {
    if (seen.filter((one) => one === id).length > 1) faults.push(`${id} appears more than once`);
  }
  const isLost = (id: string) => !isCommand(id) && !seen.includes(id);
  for (const id of acceptedIds(session)) if (isLost(id)) faults.push(`${id} is lost`);
  for (const turn of turns.slice(0, -1)) {
    const answers = answersOf(turn);
    if (answers.length > 1) faults.push(`${turn.id} was answered ${answers.length} times`);
    if (answers.some((text) => text !== stopMarker && text !== `answer to ${turn.id}`))
      faults.push(`${turn.id} has another's answer`);
  }
  return faults;
}

/** Clients must not receive the answer of a run after a stop of that run was accepted. */
export function newsFaults({ session }: Snapshot, news: readonly string[]): string[] {
  return news
    .filter((one) => session?.stop !== undefined && one === `final ${session.stop}`)
    .map((one) => `clients received "${one}" after the run was stopped`);
}

/** The replies without a tool call, and the marker of a stop. */
function answersOf({ messages }: Turn): string[] {
  const replies = messages.filter((message): message is AssistantMessage => message.role === "assistant");
  return replies.filter((reply) => toolCallsOf(reply).length === 0).map(textOf);
}

/** The faults of a session that no process works on and that no pending event will continue. */
export function restFaults(table: Snapshot, clock: number, isScheduled: (run: Run) => boolean) {
  const { session } = table;
  if (!session) return [];
  const faults: string[] = [];
  const { run, inbox, owner } = session;
  if (owner !== undefined) faults.push("a lease is held, but no process is running");
  if (needsAgent({ ...session, leaseUntil: undefined }, clock)) {
    faults.push(`nothing will process ${inbox.length} waiting entries and the run ${run?.runId ?? "none"}`);
  } else if (run && !isScheduled(run)) {
    faults.push(`nothing will end the wait of run ${run.runId}`);
  }
  const { duePk, dueAt } = session as unknown as { duePk?: string; dueAt?: number };
  const { compacting, resetting, clearFrom } = session;
  for (const [name, rest] of Object.entries({ compacting, resetting, clearFrom }))
    if (rest !== undefined) faults.push(`${name} was left`);
  const isIdle = run === undefined && inbox.length === 0;
  if (duePk !== undefined && (isIdle || Number(dueAt) <= clock)) faults.push("a sweep would find something");
  return faults;
}

/** Whether every accepted entry is done, and nothing remains to be deleted. */
export function isDone({ session }: Snapshot): boolean {
  if (!session) return true;
  const { inbox, run, clearFrom } = session;
  return inbox.length === 0 && run === undefined && clearFrom === undefined;
}

/** Ends a stopped run in the transcript, unless its answer does. */
const stopMarker = "[stopped by the user before an answer]";

/** The faults of a finished conversation. */
export function doneFaults(table: Snapshot, stopped: ReadonlySet<string>): string[] {
  const messages = transcriptOf(table);
  const turns = turnsOf(messages);
  const faults: string[] = [];
  const fault = stopped.size === 0 ? transcriptFault(messages) : undefined;
  if (fault) faults.push(`the transcript is broken: ${fault}`);
  for (const turn of turns) {
    const [answer, ...more] = answersOf(turn);
    const isEnd = answer === `answer to ${turn.id}` || (answer === stopMarker && stopped.has(turn.id));
    if (!isEnd || more.length > 0) faults.push(`${turn.id} is not answered once`);
  }
  const ids = turns.map(({ id }) => id);
  faults.push(...leftoverMessages(table).map((name) => `message ${name} was left`));
  const accepted = acceptedIds(table.session);
  for (const id of accepted) if (!isCommand(id) && !ids.includes(id)) faults.push(`${id} is lost`);
  const resets = accepted.filter((id) => id === "/reset" || id === "/new").length;
  const ended = table.session?.resets ?? 0;
  if (ended !== resets) faults.push(`${resets} resets were accepted, and ${ended} conversations ended`);
  return faults;
}
