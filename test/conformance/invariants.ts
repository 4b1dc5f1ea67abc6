import { type AssistantMessage, type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import type { Run } from "../../shared/session/run.ts";
import { messageKey, needsAgent, type SessionState } from "../../shared/session/state.ts";
import { transcriptFault } from "./model/programs.ts";
import { itemName, type Snapshot, sessionKey } from "./model/snapshot.ts";

/** The rules that a change of the table has broken. */
export function changeFaults(before: Snapshot, after: Snapshot): string[] {
  const faults: string[] = [];
  const old = before.session;
  const now = after.session;
  if (old && !now) return ["the session was deleted"];
  if (!now) return [];
  if (old) {
    if (now.epoch < old.epoch) faults.push("the epoch went back");
    if (now.head < old.head) faults.push("the head went back");
    const isEnd = old.run?.runId === old.stop && now.run?.runId !== old.stop;
    if (old.stop !== undefined && old.stop !== now.stop && !isEnd) faults.push("a stop was erased");
    for (let seq = old.first; seq <= old.head; seq++) {
      if (bodyAt(before, old, seq) !== bodyAt(after, old, seq))
        faults.push(`committed message ${seq} changed`);
    }
    for (let seq = old.head + 1; seq <= now.head; seq++) {
      const written = after.items.get(itemName(messageKey(sessionKey, now.sessionId, seq)));
      if (!written) faults.push(`the head was moved over message ${seq}, which is not there`);
      else if (written.epoch !== now.epoch)
        faults.push(`message ${seq} was committed by another than its writer`);
    }
  }
  return [...faults, ...entryFaults(after, now)];
}

function bodyAt({ items }: Snapshot, { sessionId }: SessionState, seq: number): unknown {
  return items.get(itemName(messageKey(sessionKey, sessionId, seq)))?.body;
}

/** Ids of accepted entries. Those of stops are remembered beside them. */
export function acceptedIds(session: SessionState | undefined): string[] {
  return Object.keys(session?.recent ?? {}).filter((id) => !id.startsWith("stop:"));
}

/** The committed messages. */
export function transcriptOf(table: Snapshot): Message[] {
  const { session } = table;
  if (!session) return [];
  const seqs = Array.from({ length: session.head - session.first + 1 }, (_, i) => session.first + i);
  return seqs.flatMap((seq) => {
    const body = bodyAt(table, session, seq);
    return typeof body === "string" ? [JSON.parse(body) as Message] : [];
  });
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

/** Every accepted entry waits or was taken up, exactly once, and the transcript is in order. */
function entryFaults(table: Snapshot, session: SessionState): string[] {
  const faults: string[] = [];
  const messages = transcriptOf(table);
  const turns = turnsOf(messages);
  const seen = [...turns.map(({ id }) => id), ...session.inbox.map(({ id }) => id)];
  for (const id of new Set(seen)) {
    if (seen.filter((one) => one === id).length > 1) faults.push(`${id} is there more than once`);
  }
  for (const id of acceptedIds(session)) if (!seen.includes(id)) faults.push(`${id} is lost`);
  for (const turn of turns.slice(0, -1)) {
    const answers = answersOf(turn);
    if (answers.length > 1) faults.push(`${turn.id} was answered ${answers.length} times`);
    if (answers.some((text) => text !== `answer to ${turn.id}`))
      faults.push(`${turn.id} has another's answer`);
  }
  return faults;
}

/** Clients must not receive the answer of a run after a stop of that run was accepted. */
export function newsFaults({ session }: Snapshot, news: readonly string[]): string[] {
  return news
    .filter((one) => session?.stop !== undefined && one === `final ${session.stop}`)
    .map((one) => `clients were told "${one}" after it was stopped`);
}

/** The replies without a tool call. */
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
  if (owner !== undefined) faults.push("a lease is held and nobody is at work");
  if (needsAgent({ ...session, leaseUntil: undefined }, clock)) {
    faults.push(`nobody comes for ${inbox.length} waiting and the run ${run?.runId ?? "none"}`);
  } else if (run && !isScheduled(run)) {
    faults.push(`nothing ends the waiting of run ${run.runId}`);
  }
  const { duePk, dueAt } = session as unknown as { duePk?: string; dueAt?: number };
  const isIdle = run === undefined && inbox.length === 0;
  if (duePk !== undefined && (isIdle || Number(dueAt) <= clock)) faults.push("a sweep would find something");
  return faults;
}

/** Whether every accepted message is answered. */
export function isDone({ session }: Snapshot): boolean {
  return !session || (session.inbox.length === 0 && session.run === undefined);
}

/** The faults of a finished conversation. A stopped run needs no answer. */
export function doneFaults(table: Snapshot, stopped: ReadonlySet<string>): string[] {
  const messages = transcriptOf(table);
  const turns = turnsOf(messages);
  const faults: string[] = [];
  const fault = stopped.size === 0 ? transcriptFault(messages) : undefined;
  if (fault) faults.push(`the transcript is broken: ${fault}`);
  for (const turn of turns) {
    const [answer, ...more] = answersOf(turn);
    if (answer === undefined && stopped.has(turn.id)) continue;
    if (answer !== `answer to ${turn.id}` || more.length > 0) faults.push(`${turn.id} is not answered once`);
  }
  const ids = turns.map(({ id }) => id);
  for (const id of acceptedIds(table.session)) if (!ids.includes(id)) faults.push(`${id} is lost`);
  return faults;
}
