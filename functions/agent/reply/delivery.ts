import { type AssistantMessage, textOf } from "../../../shared/protocol/messages.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { resetScheduleSteps } from "../../../shared/session/reset-schedule.ts";
import type { Run } from "../../../shared/session/run.ts";
import { remove, type Step, set } from "../../../shared/world/expression.ts";
import type { ItemValue } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";
import type { Hold } from "../hold.ts";
import { withoutProviderWords } from "../model/provider-words.ts";

/** Longest error that is kept and shown, in characters: a provider may answer with a whole page. */
const maxFailureLength = 2000;

/** Longest error that the user of a channel is told, in UTF-16 units. */
const maxNoteLength = 300;

/** Delivers the committed answer, or error, to clients and to where the message came from, and ends the run. */
export async function deliverReply(agent: Agent, hold: Hold, run: Run): Promise<boolean> {
  if (run.failure === undefined) await deliverAnswer(agent, hold, run);
  else await deliverFailure(agent, hold, run, run.failure);
  log("run.end", { sessionKey: hold.sessionKey, runId: run.runId, steps: run.step });
  return endRun(agent, hold);
}

async function deliverAnswer(agent: Agent, hold: Hold, run: Run): Promise<void> {
  const reply = (await agent.history.load(hold.state)).at(-1);
  if (reply?.role !== "assistant") return;
  await Promise.all([
    announce(agent, hold, run.runId, "final", reply),
    deliverToChannel(agent, run, run.runId, textOf(reply)),
  ]);
}

async function deliverFailure(agent: Agent, hold: Hold, run: Run, failure: string): Promise<void> {
  await Promise.all([
    announceError(agent, hold, run.runId, failure),
    deliverToChannel(agent, run, `${run.runId}:error`, failureNote(run.runId, failure)),
  ]);
}

/** What the user of a channel is told: one line, without a provider's words, and what names the run in the log. */
function failureNote(runId: string, failure: string): string {
  const line = withoutProviderWords(failure)
    .replace(/(?:\s|\\[nrt])+/g, " ")
    .trim();
  const short = line.length > maxNoteLength ? `${line.slice(0, maxNoteLength).toWellFormed()} …` : line;
  return `Sorry, that failed: ${short} (${runId})`;
}

/** Ends the run that a stop was asked for. Its unanswered calls are repaired when the transcript is next read. */
export async function endStopped(agent: Agent, hold: Hold, run: Run): Promise<boolean> {
  log("run.stopped", { sessionKey: hold.sessionKey, runId: run.runId });
  await Promise.all([
    announceError(agent, hold, run.runId, "Run cancelled by user"),
    agent.channels.conclude(run.origin, `${run.runId}:stopped`, "Stopped."),
  ]);
  return endRun(agent, hold);
}

/**
 * Ends a run that cannot go on. The error is committed, and delivered as a step of its own: whoever was told of it is
 * not told of an answer later, because the agent died in between and the next one asked the provider again.
 */
export async function failRun(agent: Agent, hold: Hold, error: string): Promise<void> {
  const { run } = hold.state;
  if (!run) return;
  log("run.failed", { sessionKey: hold.sessionKey, runId: run.runId });
  const failed: Run = {
    ...run,
    phase: "reply",
    attempt: 1,
    failure: error.slice(0, maxFailureLength).toWellFormed(),
  };
  await hold.commit([set("run", failed as unknown as ItemValue), set("updatedAt", agent.now())]);
}

/** @returns true when the session was let go, false when there is more to do */
async function endRun(agent: Agent, hold: Hold): Promise<boolean> {
  const steps = await endSteps(agent, hold);
  if (await hold.releaseIdle(steps)) return true;
  await hold.commit(steps);
  return false;
}

async function endSteps(agent: Agent, hold: Hold): Promise<Step[]> {
  const now = agent.now();
  const scheduled = await resetScheduleSteps(agent, { ...hold.state, updatedAt: now }, now);
  return [remove("run"), remove("stop"), set("updatedAt", now), ...scheduled];
}

async function deliverToChannel(agent: Agent, run: Run, id: string, text: string): Promise<void> {
  if (run.origin.kind !== "channel") return;
  const outcome = await agent.channels.deliver(run.origin, id, text);
  if (!outcome.ok)
    log("channel.undelivered", { runId: run.runId, channel: run.origin.channel, reason: outcome.reason });
}

/** For what is told on the way: it is news, and no reason for a turn to fail. */
export function unannounced(hold: Hold, runId: string): (error: unknown) => void {
  return (error) => logError("announce.failed", error, { sessionKey: hold.sessionKey, runId });
}

/** Tells all clients what the model said. `calls`, a reply of tool calls alone, is an extension of the protocol. */
export async function announce(
  agent: Agent,
  hold: Hold,
  runId: string,
  state: "partial" | "calls" | "final",
  message: AssistantMessage,
): Promise<void> {
  const { sessionKey } = hold;
  const clients = await listenersOf(agent, hold);
  const note = "(The answer is too long for one event: see session.preview.)";
  const { role, timestamp } = message;
  const short: AssistantMessage = { role, content: [{ type: "text", text: note }], timestamp };
  await agent.broadcast.send(
    clients,
    "chat",
    { runId, sessionKey, state, message },
    { runId, sessionKey, state, message: short, truncated: true },
  );
}

async function announceError(agent: Agent, hold: Hold, runId: string, error: string): Promise<void> {
  const clients = await listenersOf(agent, hold);
  await agent.broadcast.send(clients, "chat", { runId, sessionKey: hold.sessionKey, state: "error", error });
}

function listenersOf(agent: Agent, hold: Hold): Promise<string[]> {
  const { listeners = agent.broadcast.clients() } = hold;
  delete hold.listeners;
  return listeners;
}
