import type { OutboundFile, OutboundText } from "../../../shared/channels/channel.ts";
import { deliverToReceiver, isForClients } from "../../../shared/channels/receiver.ts";
import { settleCronRun } from "../../../shared/cron/settle-run.ts";
import type { ChatReply, ChatRetry } from "../../../shared/protocol/events.ts";
import { type AssistantMessage, textOf } from "../../../shared/protocol/messages.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { answerAsker } from "../../../shared/session/answer-asker.ts";
import { keepAnswer } from "../../../shared/session/kept-answer.ts";
import { failed, havingRead, type Run, senderOf } from "../../../shared/session/run.ts";
import { turnSpent } from "../../../shared/session/spending.ts";
import { assign, type SessionState } from "../../../shared/session/state.ts";
import type { Step } from "../../../shared/world/expression.ts";
import type { Agent } from "../agent.ts";
import { type ConnectedPeers, freshPeersMs } from "../context/connected-peers.ts";
import { withoutProviderWords } from "../model/provider-error-text.ts";
import { runOf, type SessionWriter } from "../session-writer.ts";
import type { EndedCalls } from "../tools/ended-calls.ts";
import { settleHeartbeat } from "./heartbeat-answer.ts";
import { announceEnd } from "./session-news.ts";
import { voiceAnswer } from "./voice-answer.ts";

/** Max characters of a stored error: a provider may answer with a whole page. */
const maxFailureLength = 2000;

/** Max length of an error on a channel, in UTF-16 units. */
const maxNoteLength = 300;

/** Follows an answer that was cut off. */
const cutNote = "[The answer was cut off here: it reached the model's limit of output tokens.]";

/** Delivers the committed answer or error to the clients and to the channel of the run's message. */
export async function deliverReply(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  peers: ConnectedPeers,
): Promise<void> {
  const { failure } = run;
  const clients = peers.clients(agent.now() - freshPeersMs);
  const [end] = await Promise.all([
    failure === undefined
      ? deliverAnswer(agent, writer, run, clients)
      : deliverFailure(agent, writer, run, failure, clients),
    announceEnd(agent, writer.state, clients),
    run.task ? undefined : agent.channels.mark(run.origin, failure === undefined ? "answered" : "failed"),
  ]);
  await settleRun(agent, writer.sessionKey, run, end);
  log("run.end", { sessionKey: writer.sessionKey, runId: run.runId, steps: run.step });
}

async function deliverAnswer(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  clients: Promise<string[]>,
): Promise<TaskEnd> {
  const reply = (await agent.history.load(writer.state)).at(-1);
  if (reply?.role !== "assistant") return {};
  const answer = wholeText(reply);
  const announced = async () =>
    announce(agent, writer.sessionKey, run.runId, "final", reply, await clients, turnOf(writer.state, run));
  const [, undelivered] = await Promise.all([
    announced(),
    deliverToChannel(agent, writer.sessionKey, run, run.runId, { markdown: answer }),
  ]);
  const voice = undelivered === undefined && (await voiceAnswer(agent, writer.sessionKey, run, answer));
  if (voice) await deliverToChannel(agent, writer.sessionKey, run, `${run.runId}:voice`, "", voice);
  return { answer, undelivered };
}

/** The turn's spending, for clients. */
function turnOf(state: SessionState, { runId }: Run): ChatReply["turn"] {
  const turn = turnSpent(state);
  if (turn?.runId !== runId) return undefined;
  const { runId: _, ...spending } = turn;
  return { ...spending, contextTokens: state.contextTokens, contextWindow: state.contextLimits?.window };
}

/** An answer as a channel shows it. Clients see `stopReason` in the event. */
function wholeText(reply: AssistantMessage): string {
  return reply.stopReason === "length" ? `${textOf(reply)}\n\n${cutNote}` : textOf(reply);
}

async function deliverFailure(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  failure: string,
  clients: Promise<string[]>,
): Promise<TaskEnd> {
  const note = failureNote(run.runId, failure);
  const [, undelivered] = await Promise.all([
    announceError(agent, writer.sessionKey, run.runId, failure, clients),
    deliverToChannel(agent, writer.sessionKey, run, `${run.runId}:error`, note),
  ]);
  return { failure, note, undelivered };
}

/** An error as a channel shows it, with the run's id, which finds it in the log. */
function failureNote(runId: string, failure: string): string {
  return `Sorry, that failed: ${shortReason(failure)} (${runId})`;
}

/** An error as one line without the provider's message. */
function shortReason(failure: string): string {
  const line = withoutProviderWords(failure)
    .replace(/(?:\s|\\[nrt])+/g, " ")
    .trim();
  return line.length > maxNoteLength ? `${line.slice(0, maxNoteLength).toWellFormed()} …` : line;
}

/** Announces to the clients and to the channel of its message that a run was stopped, and settles it. */
export async function deliverStop(
  agent: Agent,
  { sessionKey, state }: SessionWriter,
  run: Run,
  peers: ConnectedPeers,
): Promise<void> {
  const clients = peers.refreshClients();
  await Promise.all([
    announceError(agent, sessionKey, run.runId, "Run cancelled by user", clients),
    announceEnd(agent, state, clients),
    agent.channels.conclude(run.origin, `${run.runId}:stopped`, "Stopped."),
    run.task ? undefined : agent.channels.mark(run.origin, "failed"),
  ]);
  await settleRun(agent, sessionKey, run, { failure: "stopped by the user" });
}

/**
 * Commits the failure of the run in progress and a marker for the model; the loop delivers the failure next. After a crash in
 * between, no model is called again.
 * @param more the results of the calls that have none in the transcript, and other changes of the session's item
 */
export async function failRun(
  { now }: Pick<Agent, "now">,
  writer: SessionWriter,
  error: string,
  { ended = { results: [], origins: [] }, steps = [] }: { ended?: EndedCalls; steps?: readonly Step[] },
): Promise<void> {
  const failure = error.slice(0, maxFailureLength).toWellFormed();
  const run = failed(havingRead(runOf(writer), ended.origins), failure);
  const marker = endMarker(`no answer: ${shortReason(failure).replace(/^LLM error: /, "")}`, now());
  log("run.failed", { sessionKey: writer.sessionKey, runId: run.runId });
  await writer.append([...ended.results, marker], [assign("run", run), assign("updatedAt", now()), ...steps]);
}

/**
 * Takes the place of an answer in the transcript, so that the model, like every reader, sees where each message without one
 * ends. Clients of pi-ai leave out replies whose `stopReason` is an error; `errorMessage` tells this one from an answer.
 */
export function endMarker(reason: string, timestamp: number): AssistantMessage {
  const content = [{ type: "text" as const, text: `[${reason}]` }];
  return { role: "assistant", content, stopReason: "stop", errorMessage: reason, timestamp };
}

/** @returns why the text or the file did not reach the channel; undefined if it did */
async function deliverToChannel(
  agent: Agent,
  sessionKey: string,
  run: Run,
  id: string,
  text: OutboundText,
  file?: OutboundFile,
): Promise<string | undefined> {
  const { runId, origin, role } = run;
  if (isForClients(origin)) return undefined;
  const sender = role === "guest" ? undefined : senderOf(run);
  const to = { origin: { ...origin, sessionKey }, sender };
  const delivered = await deliverToReceiver(agent, to, id, text, { runId }, file);
  return delivered.ok ? undefined : delivered.reason;
}

/** Logs a failed announcement: a turn does not fail because of it. */
export function unannounced(sessionKey: string, runId: string): (error: unknown) => void {
  return (error) => logError("announce.failed", error, { sessionKey, runId });
}

/** Announces a reply of the model to all clients. The state `calls`, a reply without text, is an extension of the protocol. */
export async function announce(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  runId: string,
  state: "partial" | "calls" | "final",
  message: AssistantMessage,
  clients: readonly string[],
  turn?: ChatReply["turn"],
): Promise<void> {
  const spent = turn ? { turn } : {};
  const note = "(The answer is too long for one event: see session.preview.)";
  const { role, timestamp } = message;
  const short: AssistantMessage = { role, content: [{ type: "text", text: note }], timestamp };
  await broadcast.send(
    clients,
    "chat",
    { runId, sessionKey, state, message, ...spent },
    { runId, sessionKey, state, message: short, truncated: true, ...spent },
  );
}

async function announceError(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  runId: string,
  error: string,
  clients: Promise<string[]>,
): Promise<void> {
  await broadcast.send(await clients, "chat", { runId, sessionKey, state: "error", error });
}

/** Tells the clients that an interrupted step is started again later. @param waitMs until then */
export async function announceWait(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  { runId, step, attempt }: Pick<Run, "runId" | "step" | "attempt">,
  waitMs: number,
  clients: Promise<string[]>,
): Promise<void> {
  const reason = `the turn was interrupted ${attempt} times`;
  const retry: ChatRetry = { sessionKey, runId, state: "retry", reason, waitMs, step, attempt };
  await broadcast.send(await clients, "chat", retry, retry);
}

/** How the run of a task ended. */
export interface TaskEnd {
  /** The model's answer; absent when the run failed or was stopped. */
  answer?: string;
  /** Why the run failed or was stopped; absent when there is an answer. */
  failure?: string;
  /** Why the answer could not be delivered to its channel. */
  undelivered?: string | undefined;
  /** The failure as a channel shows it; absent when the run was stopped. */
  note?: string;
}

/** Stores the outcome where the run's client or task expects it. Safe to repeat. */
async function settleRun(agent: Agent, sessionKey: string, run: Run, end: TaskEnd): Promise<void> {
  if (run.keepsAnswer) await keepAnswer(agent.table, sessionKey, run.runId, end, agent.now());
  await settleTask(agent, sessionKey, run, end);
}

/**
 * Settles the task of a run whose message the gateway itself sent, after the delivery and before the run is removed.
 * After a crash it is repeated, so every write here must be repeatable.
 */
async function settleTask(
  agent: Pick<Agent, "table" | "bucket" | "channels" | "configuration" | "wake" | "now">,
  sessionKey: string,
  run: Pick<Run, "task" | "runId" | "notSentTo" | "origins">,
  end: TaskEnd,
): Promise<void> {
  const { task, runId } = run;
  if (!task) return;
  switch (task.kind) {
    case "exec":
      return;
    case "session":
      return answerAsker(agent, task, end, run);
    case "heartbeat":
      return settleHeartbeat(agent, sessionKey, task, runId, end);
    case "cron": {
      const { failure, undelivered } = end;
      const lost = undelivered === undefined ? undefined : `the answer was not delivered: ${undelivered}`;
      const error = failure ?? (task.bestEffort ? undefined : lost);
      return settleCronRun(agent, task, error === undefined ? { status: "ok" } : { status: "error", error });
    }
  }
}
