import { randomUUID } from "node:crypto";
import { joinOrigins } from "../../shared/origins/origins.ts";
import { nodeToolName } from "../../shared/peers/nodes.ts";
import { type Message, textOf } from "../../shared/protocol/messages.ts";
import { correlate, log } from "../../shared/runtime/log.ts";
import type { ExecTask, InboxEntry } from "../../shared/session/inbox-entry.ts";
import { acquire, LeaseLost } from "../../shared/session/lease.ts";
import { resetScheduleSteps } from "../../shared/session/reset-schedule.ts";
import { answered, havingRead, type Run, wordsRead } from "../../shared/session/run.ts";
import { assign } from "../../shared/session/state.ts";
import { remove } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { albumParts, awaitParts } from "./album.ts";
import { clearArchived, compactOnRequest, compactStep } from "./compaction/compaction.ts";
import { carryOutExtractions } from "./compaction/extraction-job.ts";
import { type ConnectedPeers, freshPeersMs, prefetch } from "./context/connected-peers.ts";
import { changeOnRequest } from "./objects/change-on-request.ts";
import { payerOf } from "./payer.ts";
import { deliverReply, deliverStop, endMarker } from "./reply/delivery.ts";
import { beginReset, isDue, queueLeft, resumeReset } from "./reset.ts";
import { type Next, runOf, SessionWriter } from "./session-writer.ts";
import { beginRun, resumeRun, runStep } from "./step.ts";
import { toolStep } from "./tool-step.ts";
import { endCalls } from "./tools/ended-calls.ts";

/** A model call begins only if it can end before Lambda ends the function. Milliseconds, in addition to the call's timeout. */
const reserveMs = 30_000;

/**
 * Works on a session until nothing is left to do or its run waits for tools, and then on memories of its ended
 * conversations. That needs no lease on the session, whose user may go on.
 * @param timeLeft milliseconds until Lambda ends this invocation
 * @param slot the invocation's, where the number of agents is limited
 */
export async function holdSession(
  agent: Agent,
  sessionKey: string,
  timeLeft: () => number,
  slot?: string,
): Promise<void> {
  const work = async () => {
    if (!(await hold(agent, sessionKey, timeLeft))) return;
    await carryOutExtractions(agent, sessionKey, async () => timeLeft() >= (await stepBudget(agent)));
  };
  return slot !== undefined && agent.slots ? agent.slots.hold(slot, sessionKey, work) : work();
}

/**
 * Works on a session as its single writer; others only append entries and results. Acquires the lease, then processes the
 * inbox and the run. No reply and no tool call acts on anything uncommitted, so after a crash another invocation continues
 * from the last commit.
 * @returns whether an extraction of memories may be due: a conversation has ended, or the sweep may have woken the agent
 * for one, since the session needs nothing
 */
async function hold(agent: Agent, sessionKey: string, timeLeft: () => number): Promise<boolean> {
  const wokenAt = agent.now();
  const peers = prefetch(agent, sessionKey);
  const held = await acquire(agent.table, sessionKey, randomUUID(), wokenAt);
  if (!held) {
    log("agent.busy", { sessionKey });
    return true;
  }
  const { state: before } = held;
  const writer = new SessionWriter(agent, held, wokenAt);
  try {
    for (;;) {
      if ((await nextStepOf(agent, writer, peers, timeLeft)) === "released") {
        const isIdle = before.run === undefined && before.inbox.length === 0;
        return isIdle || before.sessionId !== writer.state.sessionId || before.extracting !== undefined;
      }
      if (timeLeft() < (await stepBudget(agent))) break;
    }
    await handOver(agent, writer);
  } catch (error) {
    if (!(error instanceof LeaseLost)) {
      await writer.releaseUnfinished().catch(() => {});
      throw error;
    }
    log("lease.lost", { sessionKey, epoch: writer.lease.epoch });
  } finally {
    writer.end();
  }
  return false;
}

/** Does one step of the session. A step reads only committed state: a crash between two steps loses nothing. */
async function nextStepOf(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  timeLeft: () => number,
): Promise<Next> {
  const { run, compacting, clearFrom, extracting, resetting, inbox } = writer.state;
  const runId = run?.runId ?? inbox[0]?.id;
  if (runId !== undefined) correlate(runId);
  if (compacting) {
    await compactStep(agent, writer, compacting);
    return "continue";
  }
  if (clearFrom !== undefined) await clearArchived(agent, writer, clearFrom);
  if (extracting && !resetting) await queueLeft(agent, writer, extracting);
  return run ? runOn(agent, writer, peers, run) : beginEntry(agent, writer, peers, timeLeft);
}

/** Does the next step of the run in progress. */
async function runOn(agent: Agent, writer: SessionWriter, peers: ConnectedPeers, run: Run): Promise<Next> {
  await seeConfiguration(agent, run.configurationVersion ?? 0);
  if (writer.state.stop === run.runId) return endStopped(agent, writer, peers, run);
  if (run.phase === "model") return resumeRun(agent, writer, peers, run);
  if (run.phase === "tools") return toolStep(agent, writer, peers, run);
  await Promise.all([
    deliverReply(agent, writer, run, peers),
    writer.account.settle(payerOf(run, writer.sessionKey)),
  ]);
  return endRun(agent, writer);
}

/** Does the first step of the oldest inbox entry. */
async function beginEntry(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  timeLeft: () => number,
): Promise<Next> {
  const { inbox, resetting } = writer.state;
  const [entry] = inbox;
  if (!entry) return (await writer.releaseIdle()) ? "released" : "continue";
  await seeConfiguration(agent, entry.configurationVersion);
  if (timeLeft() < (await stepBudget(agent))) return "continue";
  if (resetting) await resumeReset(agent, writer);
  else if (entry.kind === "reset") await beginReset(agent, writer, entry);
  else if (entry.kind === "compact") await compactOnRequest(agent, writer, entry);
  else if (entry.kind !== "message") await changeOnRequest(agent, writer, entry);
  // No run is in progress and this entry is the oldest, so a recorded stop can only be meant for it.
  else if (await isObsoleteNotice(agent, writer, entry)) await writer.commitEntry(entry, [remove("stop")]);
  else if (await awaitParts(albumParts(entry, inbox), agent.now(), writer.interrupted))
    await writer.refresh();
  else if (await isDue(agent, writer.state, entry.at)) await beginReset(agent, writer);
  else return runStep(agent, writer, peers, await beginRun(agent, writer, peers, entry));
  return "continue";
}

/**
 * Ends a run that a user stopped, and appends the results of its calls and a marker to the transcript. A run that has its
 * answer or its failure keeps that instead.
 */
async function endStopped(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
): Promise<Next> {
  log("run.stopped", { sessionKey: writer.sessionKey, runId: run.runId });
  const nodes = () => peers.nodes(agent.now() - freshPeersMs);
  const stopped = async () => {
    if (run.phase === "reply") return;
    const { results, origins } = await endCalls(agent, writer, run, "stopped", nodes);
    const marker = endMarker("stopped by the user before an answer", agent.now());
    await writer.append([...results, marker], [assign("run", answered(havingRead(run, origins)))]);
  };
  await Promise.all([stopped(), deliverStop(agent, writer, run, peers)]);
  await writer.account.settle(payerOf(run, writer.sessionKey));
  return endRun(agent, writer);
}

async function endRun(agent: Agent, writer: SessionWriter): Promise<Next> {
  const now = agent.now();
  const { state } = writer;
  const run = runOf(writer);
  const origins = joinOrigins(state.origins, wordsRead(run));
  const read = origins.join() === state.origins?.join() ? [] : [assign("origins", origins)];
  const scheduled = await resetScheduleSteps(agent, { ...state, updatedAt: now }, now);
  return (await writer.endRun([assign("updatedAt", now), ...read, ...scheduled])) ? "released" : "continue";
}

/**
 * Makes sure that this instance uses this version of the configuration or a later one. Reads nothing if it already does.
 * @param version undefined: the newest
 */
async function seeConfiguration({ configuration }: Agent, version: number | undefined): Promise<void> {
  await configuration.load(version === undefined ? { fresh: true } : { atLeast: version });
}

async function stepBudget(agent: Agent): Promise<number> {
  return (await agent.configuration.load()).timeouts.llmMs + reserveMs;
}

async function handOver(agent: Agent, writer: SessionWriter): Promise<void> {
  log("agent.handover", { sessionKey: writer.sessionKey });
  await writer.releaseUnfinished();
  await agent.wake(writer.sessionKey);
}

/**
 * Whether an entry reports the end of a background command that nobody waits for any more: the session was reset since
 * the command started, or the model has already read the end with the Process tool.
 */
async function isObsoleteNotice(agent: Agent, writer: SessionWriter, entry: InboxEntry): Promise<boolean> {
  const task = entry.kind === "message" ? entry.task : undefined;
  if (task?.kind !== "exec") return false;
  const isReset = task.conversation !== writer.state.sessionId;
  if (!isReset && !hasSeenEnd(await agent.history.load(writer.state), task)) return false;
  log("exec.dropped", { sessionKey: writer.sessionKey, entryId: entry.id, why: isReset ? "reset" : "seen" });
  return true;
}

/** Whether a conversation contains a result of the Process tool that reports the end of a command. */
function hasSeenEnd(messages: readonly Message[], { nodeId, sessionId }: ExecTask): boolean {
  const tool = nodeToolName(nodeId, "Process");
  return messages.some(
    (message) =>
      message.role === "toolResult" && message.toolName === tool && reportsEnd(textOf(message), sessionId),
  );
}

function reportsEnd(text: string, sessionId: string): boolean {
  if (!text.includes(sessionId)) return false;
  try {
    const report = JSON.parse(text) as { sessionId?: unknown; status?: unknown } | null;
    return report?.sessionId === sessionId && (report.status === "completed" || report.status === "failed");
  } catch {
    return false;
  }
}
