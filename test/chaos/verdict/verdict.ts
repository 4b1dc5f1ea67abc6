import { type Message, textOf, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { metaKey, type SessionState, toState } from "../../../shared/session/state.ts";
import type { Item, Table } from "../../../shared/world/world.ts";
import { answerText, expectedEnd, type MessagePlan, tagOf } from "../faults/plan.ts";
import type { ClientRecord } from "../load/client.ts";
import { type Deliveries, judgeDeliveries } from "../load/deliveries.ts";
import type { Journal } from "./journal.ts";

/** What went wrong, by kind; each finding is a sentence. */
export type Findings = Record<
  | "lost"
  | "duplicated"
  | "reordered"
  | "stuck"
  | "fencingViolations"
  | "invalidTranscripts"
  | "misreported"
  | "leftOver",
  string[]
>;

export interface Evidence {
  table: Pick<Table, "get" | "query">;
  journal: Journal;
  records: ReadonlyMap<string, ClientRecord>;
  planOf(tag: string): MessagePlan;
  /** The model's ids of the executed calls. */
  carriedOut: readonly string[];
  deliveries: Deliveries;
}

export interface Verdict {
  sessions: number;
  /** Messages that clients sent, that the gateway accepted, and that got their answer or error. */
  sent: number;
  accepted: number;
  answered: number;
  /** Messages whose end reached no client as an event; `session.preview` shows their answers. */
  unheard: number;
  /** Messages whose client stopped asking for their end, because the gateway did not respond. */
  unreached: number;
  /** Duplicate messages on the channel's platform, each explained by the log. */
  resent: number;
  findings: Findings;
}

/** A stored message with the sort key and epoch of its item. */
interface Stored {
  sk: string;
  epoch: number;
  message: Message;
}

export function noFindings(): Findings {
  return {
    lost: [],
    duplicated: [],
    reordered: [],
    stuck: [],
    fencingViolations: [],
    invalidTranscripts: [],
    misreported: [],
    leftOver: [],
  };
}

/** Judges every session by the final state of the table, and by all records. */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const findings = noFindings();
  const sessions = evidence.journal.sessions();
  let accepted = 0;
  let answered = 0;
  const withAnswer = new Set<string>();
  const called = new Set<string>();
  for (const sessionKey of sessions) {
    const state = toState((await evidence.table.get(metaKey(sessionKey))) as Item);
    const stored = await readStored(evidence.table, state);
    checkRest(findings, state);
    checkFencing(findings, evidence, state, stored);
    const transcript = stored.map(({ message }) => message);
    checkCalls(findings, sessionKey, transcript);
    for (const call of transcript.flatMap(toolCallsOf)) called.add(call.id);
    const taken = evidence.journal.of(sessionKey).accepted.flatMap(({ text }) => tagOf(text) ?? []);
    checkOrder(findings, sessionKey, transcript, taken);
    accepted += taken.length;
    for (const tag of taken) {
      const { right, hasAnswer } = checkAnswer(findings, evidence, transcript, tag);
      answered += right ? 1 : 0;
      if (hasAnswer) withAnswer.add(tag);
    }
  }
  const taken = new Set(sessions.flatMap((key) => evidence.journal.of(key).accepted.map(({ id }) => id)));
  for (const [tag, { acknowledged, runId }] of evidence.records) {
    if (acknowledged && !taken.has(runId)) findings.lost.push(`#${tag} was acknowledged and is in no inbox`);
  }
  for (const id of evidence.carriedOut) {
    if (!called.has(id))
      findings.fencingViolations.push(`the call ${id} was carried out and is in no transcript`);
  }
  for (const id of evidence.carriedOut.filter((one, i, all) => all.indexOf(one) !== i)) {
    findings.duplicated.push(`the call ${id} was carried out twice`);
  }
  const delivered = judgeDeliveries(evidence.deliveries, evidence.records, (tag) => withAnswer.has(tag));
  findings.lost.push(...delivered.lost);
  findings.duplicated.push(...delivered.duplicated);
  const records = [...evidence.records.values()];
  const unheard = records.filter(({ finals, errors }) => finals.length + errors.length === 0).length;
  return {
    sessions: sessions.length,
    sent: records.length,
    accepted,
    answered,
    unheard,
    unreached: records.filter(({ outcome }) => isUnreached(outcome)).length,
    resent: delivered.repeated,
    findings,
  };
}

async function readStored(table: Evidence["table"], state: SessionState): Promise<Stored[]> {
  const { pk } = metaKey(state.sessionKey);
  const items = await table.query({ pk, prefix: `M#${state.sessionId}#` });
  return items
    .map((item) => ({ item, seq: Number(String(item.sk).split("#")[2]) }))
    .filter(({ seq }) => seq >= state.first && seq <= state.head)
    .map(({ item }) => ({
      sk: String(item.sk),
      epoch: Number(item.epoch),
      message: JSON.parse(String(item.body)) as Message,
    }));
}

/** The session has no run, no inbox entries and no valid lease. An expired lease of a killed agent is allowed. */
function checkRest({ stuck }: Findings, state: SessionState): void {
  const { sessionKey, run, inbox, leaseUntil, inboxBytes } = state;
  if (run) stuck.push(`${sessionKey}: the run ${run.runId} is in phase ${run.phase}`);
  if (inbox.length > 0) stuck.push(`${sessionKey}: ${inbox.length} entries are left in the inbox`);
  if (leaseUntil !== undefined && leaseUntil > Date.now()) stuck.push(`${sessionKey}: its lease is held`);
  if (inbox.length === 0 && inboxBytes !== 0)
    stuck.push(`${sessionKey}: the empty inbox counts for ${inboxBytes} bytes`);
}

function checkFencing(
  { fencingViolations: found }: Findings,
  { journal }: Evidence,
  { sessionKey, head, first }: SessionState,
  stored: readonly Stored[],
): void {
  for (const violation of journal.of(sessionKey).violations) found.push(`${sessionKey}: ${violation}`);
  if (stored.length !== head - first + 1)
    found.push(`${sessionKey}: ${stored.length} messages exist from ${first} to ${head}`);
  for (const [i, { sk, epoch }] of stored.entries()) {
    if (epoch < (stored[i - 1]?.epoch ?? 0)) found.push(`${sessionKey}: the epoch falls at ${sk}`);
  }
  const committed = journal.committed(sessionKey);
  for (const { sk, message } of stored) {
    const then = committed.get(sk);
    const body = then && (JSON.parse(then) as { body?: string }).body;
    if (body !== JSON.stringify(message)) found.push(`${sessionKey}: ${sk} is not what was committed`);
  }
}

/** Every call has one result, directly after the message that makes it, and there are no other results. */
function checkCalls(
  { invalidTranscripts }: Findings,
  sessionKey: string,
  transcript: readonly Message[],
): void {
  let open: string[] = [];
  const fail = (what: string) => invalidTranscripts.push(`${sessionKey}: ${what}`);
  for (const message of transcript) {
    if (message.role === "toolResult") {
      if (open[0] !== message.toolCallId) fail(`the result of ${message.toolCallId} is out of its place`);
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    if (open.length > 0) fail(`the calls ${open} have no results`);
    open = toolCallsOf(message).map((call) => call.id);
  }
  if (open.length > 0) fail(`the calls ${open} have no results`);
}

/** The user's messages are in the order of the inbox. */
function checkOrder(
  { reordered }: Findings,
  sessionKey: string,
  transcript: readonly Message[],
  taken: readonly string[],
): void {
  const tags = transcript.flatMap((message) =>
    message.role === "user" ? (tagOf(textOf(message)) ?? []) : [],
  );
  const inTranscript = [...new Set(tags)];
  const expected = taken.filter((tag) => inTranscript.includes(tag));
  if (inTranscript.join() !== expected.join())
    reordered.push(`${sessionKey}: taken as ${expected}, done as ${inTranscript}`);
}

/** `right`: the message has exactly one end: the answer, or an error if the provider fails by plan. */
function checkAnswer(
  findings: Findings,
  { records, planOf }: Evidence,
  transcript: readonly Message[],
  tag: string,
): { right: boolean; hasAnswer: boolean } {
  const { lost, duplicated } = findings;
  const before = lost.length + duplicated.length;
  const asked = transcript.filter((message) => message.role === "user" && tagOf(textOf(message)) === tag);
  if (asked.length === 0) lost.push(`#${tag} is not in the transcript`);
  if (asked.length > 1) duplicated.push(`#${tag} is ${asked.length} times in the transcript`);
  const answers = transcript.filter(
    (message) =>
      message.role === "assistant" && toolCallsOf(message).length === 0 && tagOf(textOf(message)) === tag,
  );
  const record = records.get(tag);
  const expected = expectedEnd(planOf(tag));
  if (expected === "error" && answers.length > 0) lost.push(`#${tag} should have failed but has an answer`);
  if (expected === "answer" && answers.length === 0)
    lost.push(`#${tag} has no answer; clients got the errors: ${record?.errors.join()}`);
  if (answers.length > 1) duplicated.push(`#${tag} has ${answers.length} answers`);
  if (answers.some((message) => textOf(message) !== answerText(tag))) lost.push(`#${tag} has a wrong answer`);
  const hasAnswer = answers.length > 0;
  if (record) checkTold(findings, record, tag, hasAnswer);
  return { right: lost.length + duplicated.length === before, hasAnswer };
}

/** The client reported that the gateway did not respond for minutes, so it does not know the message's end. */
function isUnreached(outcome = ""): boolean {
  return /no answer from the gateway|closed the connection|not connected|internal error/.test(outcome);
}

/** The error of a failing provider, not that of a turn that was given up. */
const providerError = /^LLM (error: (?!the turn was interrupted)|returned empty response)/;

/** Checks that clients learned how a message ended, and nothing else. Repeated events must be identical. */
function checkTold(
  { duplicated, misreported }: Findings,
  { finals, errors, outcome, chat }: ClientRecord,
  tag: string,
  hasAnswer: boolean,
): void {
  const told = [...new Set([...finals, ...errors])];
  if (hasAnswer && errors.length > 0)
    duplicated.push(`#${tag}: has an answer, but clients got an error: ${errors.join()}`);
  else if (told.length > 1) duplicated.push(`#${tag}: clients got different ends: ${told.join()}`);
  if (!hasAnswer && finals.length > 0)
    misreported.push(`#${tag} has no answer, but clients got one: ${finals.join()}`);
  const strange = errors.find((error) => !providerError.test(error));
  if (!hasAnswer && strange !== undefined) misreported.push(`#${tag} failed with: ${strange}`);
  // For chats, the messages that the platform accepted are judged instead.
  if (chat !== undefined || isUnreached(outcome)) return;
  const claimed = outcome === "answered";
  if (claimed !== hasAnswer)
    misreported.push(`#${tag} has ${hasAnswer ? "an" : "no"} answer, its client said: ${outcome}`);
}
