import type { ChatReply } from "../../../shared/protocol/events.ts";
import { type AssistantMessage, textOf } from "../../../shared/protocol/messages.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { resetScheduleSteps } from "../../../shared/session/reset/reset-schedule.ts";
import { failed, type Run } from "../../../shared/session/run.ts";
import { turnSpent } from "../../../shared/session/spending/spending.ts";
import { assign, type SessionState } from "../../../shared/session/state.ts";
import type { Agent } from "../agent.ts";
import { readPeers } from "../context/connected-peers.ts";
import { withoutProviderWords } from "../model/provider-words.ts";
import type { SessionWriter } from "../session-writer.ts";
import type { StepContext } from "../step-context.ts";
import { endPendingCalls, stopCalls } from "../tools/stopped-calls.ts";
import { settleTask } from "./task.ts";
import type { TaskEnd } from "./task-end.ts";

/** Longest error that is kept and shown, in characters: a provider may answer with a whole page. */
const maxFailureLength = 2000;

/** Longest error that the user of a channel is told, in UTF-16 units. */
const maxNoteLength = 300;

/** Stands behind an answer that ends in the middle. */
const cutNote = "[The answer was cut off here: it reached the model's limit of output tokens.]";

/**
 * Delivers the committed answer, or error, to clients and to where the message came from, and ends the run.
 * @returns "released" when the session was let go
 */
export async function deliverReply(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  { listeners, ...context }: StepContext,
): Promise<StepContext | "released"> {
  const { failure } = run;
  const end =
    failure === undefined
      ? await deliverAnswer(agent, writer, run, listeners)
      : await deliverFailure(agent, writer, run, failure, listeners);
  await settleTask(agent, run, end);
  log("run.end", { sessionKey: writer.sessionKey, runId: run.runId, steps: run.step });
  return (await endRun(agent, writer)) ? "released" : context;
}

async function deliverAnswer(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  listeners: Listeners,
): Promise<TaskEnd> {
  const reply = (await agent.history.load(writer.state)).at(-1);
  if (reply?.role !== "assistant") return {};
  const answer = wholeText(reply);
  const [, undelivered] = await Promise.all([
    announce(agent, writer.sessionKey, run.runId, "final", reply, listeners, turnOf(writer.state, run)),
    deliverToChannel(agent, run, run.runId, answer),
  ]);
  return { answer, undelivered };
}

/** What the turn took, for clients. */
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
  listeners: Listeners,
): Promise<TaskEnd> {
  const note = failureNote(run.runId, failure);
  const [, undelivered] = await Promise.all([
    announceError(agent, writer.sessionKey, run.runId, failure, listeners),
    deliverToChannel(agent, run, `${run.runId}:error`, note),
    run.pendingCount > 0 ? endPendingCalls(agent, writer.sessionKey, run, readPeers(agent)) : undefined,
  ]);
  return { failure, note, undelivered };
}

/** What the user of a channel is told: one line, without a provider's words, and what names the run in the log. */
function failureNote(runId: string, failure: string): string {
  const line = withoutProviderWords(failure)
    .replace(/(?:\s|\\[nrt])+/g, " ")
    .trim();
  const short = line.length > maxNoteLength ? `${line.slice(0, maxNoteLength).toWellFormed()} …` : line;
  return `Sorry, that failed: ${short} (${runId})`;
}

/** Ends the run that a stop was asked for, with its calls. */
export async function endStopped(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  { listeners, prefetched, ...context }: StepContext,
): Promise<StepContext | "released"> {
  log("run.stopped", { sessionKey: writer.sessionKey, runId: run.runId });
  await Promise.all([
    stopCalls(agent, writer, run, prefetched ?? readPeers(agent)),
    announceError(agent, writer.sessionKey, run.runId, "Run cancelled by user", listeners),
    agent.channels.conclude(run.origin, `${run.runId}:stopped`, "Stopped."),
  ]);
  await settleTask(agent, run, { failure: "stopped by the user" });
  return (await endRun(agent, writer)) ? "released" : context;
}

/**
 * Ends a run that cannot go on. The error is committed, and delivered as a step of its own: if the agent dies after
 * the delivery, the next one does not ask the provider again and deliver an answer as well.
 */
export async function failRun(agent: Agent, writer: SessionWriter, error: string): Promise<void> {
  const { run } = writer.state;
  if (!run) return;
  log("run.failed", { sessionKey: writer.sessionKey, runId: run.runId });
  const failure = error.slice(0, maxFailureLength).toWellFormed();
  await writer.commit([assign("run", failed(run, failure)), assign("updatedAt", agent.now())]);
}

/** Ends a run whose step was interrupted too often: something in it kills the function. */
export function giveUp(agent: Agent, writer: SessionWriter, { attempt }: Run): Promise<void> {
  return failRun(agent, writer, `LLM error: the turn was interrupted ${attempt} times`);
}

/** @returns true when the session was let go, false when there is more to do */
async function endRun(agent: Agent, writer: SessionWriter): Promise<boolean> {
  const now = agent.now();
  const scheduled = await resetScheduleSteps(agent, { ...writer.state, updatedAt: now }, now);
  return writer.endRun([assign("updatedAt", now), ...scheduled]);
}

/** @returns why the text did not reach the channel */
async function deliverToChannel(
  agent: Agent,
  run: Run,
  id: string,
  text: string,
): Promise<string | undefined> {
  if (run.origin.kind !== "channel") return undefined;
  const outcome = await agent.channels.deliver(run.origin, id, text);
  if (outcome.ok) return undefined;
  log("channel.undelivered", { runId: run.runId, channel: run.origin.channel, reason: outcome.reason });
  return outcome.reason;
}

/** Logs an announcement on the way that failed: it is no reason for a turn to fail. */
export function unannounced(sessionKey: string, runId: string): (error: unknown) => void {
  return (error) => logError("announce.failed", error, { sessionKey, runId });
}

/** Connection ids of the clients; absent: they are read. */
type Listeners = Promise<string[]> | undefined;

/** Announces to all clients what the model said. `calls`, a reply of tool calls alone, is an extension of the protocol. */
export async function announce(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  runId: string,
  state: "partial" | "calls" | "final",
  message: AssistantMessage,
  listeners: Listeners,
  turn?: ChatReply["turn"],
): Promise<void> {
  const clients = await (listeners ?? broadcast.clients());
  const took = turn ? { turn } : {};
  const note = "(The answer is too long for one event: see session.preview.)";
  const { role, timestamp } = message;
  const short: AssistantMessage = { role, content: [{ type: "text", text: note }], timestamp };
  await broadcast.send(
    clients,
    "chat",
    { runId, sessionKey, state, message, ...took },
    { runId, sessionKey, state, message: short, truncated: true, ...took },
  );
}

async function announceError(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  runId: string,
  error: string,
  listeners: Listeners,
): Promise<void> {
  const clients = await (listeners ?? broadcast.clients());
  await broadcast.send(clients, "chat", { runId, sessionKey, state: "error", error });
}
