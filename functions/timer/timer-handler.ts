import type { Context } from "aws-lambda";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { watchUpgrade } from "../../shared/configuration/upgrade.ts";
import { advanceJob } from "../../shared/cron/run-job.ts";
import { loadSweep } from "../../shared/dreaming/load-sweep.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { log } from "../../shared/runtime/log.ts";
import { expireProbes } from "../../shared/skills/probing.ts";
import { createCachedReader } from "../../shared/workspace/cached-reader.ts";
import type { TimerEvent, World } from "../../shared/world/world.ts";
import { dream } from "./dream.ts";
import { beat } from "./heartbeat.ts";
import { sweepAndRecord, watch } from "./sweep.ts";
import {
  closeAgain,
  closeUnauthenticated,
  expireTools,
  pollTasks,
  remindOfRequests,
  resetIfDue,
  type Timer,
} from "./timer.ts";

/**
 * The timer function's handler, which schedules invoke. It records no faults of its own: the alarm watches its failures, and
 * a failed watch must not make the next one fail.
 */
export function createTimerHandler(world: World) {
  const { table, schedules, secrets, sockets, wake, slots, now } = world;
  const configuration = openConfiguration(table, secrets, { now, model: world.defaultModel });
  const files = createCachedReader(world.bucket);
  const sweepMemories = loadSweep(world);
  const timer: Timer = {
    table,
    schedules,
    configuration,
    sockets,
    wake,
    slots,
    files,
    sweepMemories,
    now,
  };
  const continueUpgrade = watchUpgrade(world);
  const fireEvent = async (event: TimerEvent, context: Context) => {
    // The handler needs the newest configuration. Read it in parallel with the session.
    if (event.kind === "reset-due") configuration.load({ fresh: true }).catch(() => {});
    if (event.kind === "sweep") await continueUpgrade();
    return fire(timer, event, () => context.getRemainingTimeInMillis());
  };
  return wrapHandler<TimerEvent, void>("timer", fireEvent, {
    fields: ({ kind }) => ({ kind }),
    run: (event) => ("runId" in event ? event.runId : undefined),
  });
}

async function fire(timer: Timer, event: TimerEvent, remainingMs: () => number): Promise<void> {
  switch (event.kind) {
    case "tool-timeout":
      return expireTools(timer, event);
    case "approval-reminder":
      return remindOfRequests(timer, event);
    case "task-poll":
      return pollTasks(timer, event);
    case "auth-timeout":
      return closeUnauthenticated(timer, event.slot);
    case "close":
      return closeAgain(timer, event.connectionId);
    case "reset-due":
      return resetIfDue(timer, event);
    case "probe-timeout":
      return expireProbes(timer, event.nodeId, event.at);
    case "cron":
      return fireCron(timer, event);
    case "heartbeat":
      return beat(timer, event);
    case "dream":
      return dream(timer, event);
    case "sweep":
      return sweepAndRecord(timer, remainingMs);
    case "watch":
      return watch(timer);
  }
}

/**
 * Handles the time of a scheduled job's run. A time that is no longer the job's next one is ignored: the job was changed or
 * has run.
 */
export async function fireCron(
  timer: Timer,
  { jobId, at }: Extract<TimerEvent, { kind: "cron" }>,
): Promise<void> {
  log("cron.fire", { jobId, at });
  // Use the schedule's time if this clock is slow.
  await advanceJob(timer, jobId, Math.max(timer.now(), at), { firedAt: at });
}
