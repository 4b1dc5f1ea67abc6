import { randomUUID } from "node:crypto";
import { log } from "../../shared/runtime/log.ts";
import { acquire, LeaseLost } from "../../shared/session/lease.ts";
import type { Agent } from "./agent.ts";
import { clearArchived, compactOnRequest, compactStep } from "./compaction/compaction.ts";
import { foresee } from "./context/peers.ts";
import { type Hold, startHold } from "./hold.ts";
import { deliverReply, endStopped } from "./reply/delivery.ts";
import { beginReset, isDue, resumeReset } from "./reset.ts";
import { beginRun, resumeModel, toolsStep } from "./turn.ts";

/** A model call is begun only if it can end before Lambda ends the function. Milliseconds, beside the call's timeout. */
const reserveMs = 30_000;

/**
 * The session's single writer: takes the lease, and works off the inbox and the run until there is nothing to do, or
 * the run waits for tools. Every step is written down before the next one acts on it, so whatever dies, another
 * invocation goes on from there.
 * @param timeLeft milliseconds until Lambda ends this invocation
 */
export async function holdSession(agent: Agent, sessionKey: string, timeLeft: () => number): Promise<void> {
  const foreseen = foresee(agent, sessionKey);
  const held = await acquire(agent.table, sessionKey, randomUUID(), agent.now());
  if (!held) {
    log("agent.busy", { sessionKey });
    return;
  }
  const hold = startHold(agent, held, foreseen);
  try {
    while (!(await nextStep(agent, hold, timeLeft))) {
      if (timeLeft() < (await stepBudget(agent))) return await handOver(agent, hold);
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) {
      await hold.releaseUnfinished().catch(() => {});
      throw error;
    }
    log("lease.lost", { sessionKey, epoch: hold.lease.epoch });
  } finally {
    hold.end();
  }
}

/** One step of the session. @returns true when the session was let go */
async function nextStep(agent: Agent, hold: Hold, timeLeft: () => number): Promise<boolean> {
  const { run, inbox, stop, compacting, clearFrom, resetting } = hold.state;
  if (compacting) {
    await compactStep(agent, hold, compacting);
    return false;
  }
  if (clearFrom !== undefined) await clearArchived(agent, hold, clearFrom);
  if (run) {
    if (stop === run.runId) return endStopped(agent, hold, run);
    if (run.phase === "tools") return toolsStep(agent, hold, run);
    if (run.phase === "reply") return deliverReply(agent, hold, run);
    await resumeModel(agent, hold, run);
    return false;
  }
  const [entry] = inbox;
  if (!entry) return hold.releaseIdle([]);
  if (timeLeft() < (await stepBudget(agent))) return false;
  if (resetting) await resumeReset(agent, hold);
  else if (entry.kind === "reset") await beginReset(agent, hold, entry);
  else if (entry.kind === "compact") await compactOnRequest(agent, hold, entry);
  else if (await isDue(agent, hold.state, entry.at)) await beginReset(agent, hold);
  else await beginRun(agent, hold, entry);
  return false;
}

async function stepBudget(agent: Agent): Promise<number> {
  return (await agent.configuration.load()).timeouts.llmMs + reserveMs;
}

async function handOver(agent: Agent, hold: Hold): Promise<void> {
  log("agent.handover", { sessionKey: hold.sessionKey });
  await hold.releaseUnfinished();
  await agent.wake(hold.sessionKey);
}
