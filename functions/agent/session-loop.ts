import { randomUUID } from "node:crypto";
import { log } from "../../shared/runtime/log.ts";
import { acquire, LeaseLost } from "../../shared/session/lease.ts";
import { remove } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { clearArchived, compactOnRequest, compactStep } from "./compaction/compaction.ts";
import { prefetch } from "./context/connected-peers.ts";
import { isToldForNothing } from "./context/ended-command.ts";
import { beginRun, beginRunWithAttachments, resumeRun } from "./model-step.ts";
import { changeOnRequest } from "./objects/change-on-request.ts";
import { deliverReply, endStopped } from "./reply/delivery.ts";
import { beginReset, isDue, resumeReset } from "./reset.ts";
import { SessionWriter } from "./session-writer.ts";
import type { StepContext } from "./step-context.ts";
import { toolStep } from "./tool-step.ts";

/** A model call is begun only if it can end before Lambda ends the function. Milliseconds, beside the call's timeout. */
const reserveMs = 30_000;

/**
 * The session's single writer: takes the lease, and works off the inbox and the run until there is nothing to do, or
 * the run waits for tools. Every step is written down before the next one acts on it, so that after a crash another
 * invocation goes on from there.
 * @param timeLeft milliseconds until Lambda ends this invocation
 */
export async function holdSession(agent: Agent, sessionKey: string, timeLeft: () => number): Promise<void> {
  const prefetched = prefetch(agent, sessionKey);
  const held = await acquire(agent.table, sessionKey, randomUUID(), agent.now());
  if (!held) {
    log("agent.busy", { sessionKey });
    return;
  }
  const writer = new SessionWriter(agent, held);
  try {
    let context: StepContext = { prefetched };
    for (;;) {
      const next = await takeStep(agent, writer, context, timeLeft);
      if (next === "released") return;
      if (timeLeft() < (await stepBudget(agent))) return await handOver(agent, writer);
      context = next;
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) {
      await writer.releaseUnfinished().catch(() => {});
      throw error;
    }
    log("lease.lost", { sessionKey, epoch: writer.lease.epoch });
  } finally {
    writer.end();
  }
}

/** One step of the session. @returns what it leaves for the next step; "released" when the session was let go */
async function takeStep(
  agent: Agent,
  writer: SessionWriter,
  context: StepContext,
  timeLeft: () => number,
): Promise<StepContext | "released"> {
  const { run, inbox, stop, compacting, clearFrom, resetting } = writer.state;
  if (compacting) {
    await compactStep(agent, writer, compacting);
    return context;
  }
  if (clearFrom !== undefined) await clearArchived(agent, writer, clearFrom);
  if (run) {
    await seeConfiguration(agent, run.configurationVersion ?? 0);
    if (stop === run.runId) return endStopped(agent, writer, run, context);
    if (run.phase === "tools") return toolStep(agent, writer, run, context);
    if (run.phase === "reply") return deliverReply(agent, writer, run, context);
    return resumeRun(agent, writer, run, context);
  }
  const [entry] = inbox;
  if (!entry) return (await writer.releaseIdle()) ? "released" : context;
  await seeConfiguration(agent, entry.configurationVersion);
  if (timeLeft() < (await stepBudget(agent))) return context;
  if (resetting) await resumeReset(agent, writer);
  else if (entry.kind === "reset") await beginReset(agent, writer, entry);
  else if (entry.kind === "compact") await compactOnRequest(agent, writer, entry);
  else if (entry.kind !== "message") await changeOnRequest(agent, writer, entry);
  // With no run and this entry first, a stop can only be for it.
  else if (await isToldForNothing(agent, writer, entry)) await writer.commitEntry(entry, [remove("stop")]);
  else if (await isDue(agent, writer.state, entry.at)) await beginReset(agent, writer);
  else if (entry.attachments) await beginRunWithAttachments(agent, writer, entry);
  else return beginRun(agent, writer, entry, context);
  return context;
}

/**
 * Makes sure that this instance works with this version of the configuration or a later one. It reads nothing while
 * the configuration stays as it is. @param version undefined: the newest
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
