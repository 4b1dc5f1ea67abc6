import type { Configuration } from "../../shared/configuration/schema.ts";
import { skipReason, submitBeat } from "../../shared/heartbeat/beat.ts";
import { planNextBeat, readBeat } from "../../shared/heartbeat/beat-state.ts";
import { beatSettings } from "../../shared/heartbeat/beat-times.ts";
import { log } from "../../shared/runtime/log.ts";
import { heartbeatSessionKey } from "../../shared/session/key/session-key.ts";
import { whyStopped } from "../../shared/spend/stopped-work.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import type { Timer } from "./timer.ts";

type Beat = Omit<Extract<TimerEvent, { kind: "heartbeat" }>, "kind">;

/**
 * Handles a beat of an agent's heartbeat: asks the model, unless there is a reason to skip the beat, and plans the next one.
 * A replaced beat is ignored. After a crash the beat stays planned: the Scheduler or the sweep repeats it, and the session
 * accepts its message once.
 */
export async function beat(timer: Timer, { agentId, at }: Beat): Promise<void> {
  const { table } = timer;
  const [state, configuration] = await Promise.all([
    readBeat(table, agentId),
    timer.configuration.load({ fresh: true }),
  ]);
  if (state.nextAt !== at) return;
  // Use the schedule's time if this clock is slow.
  const now = Math.max(timer.now(), at);
  const settings = beatSettings(configuration, agentId);
  const isOff = settings.everyMs === 0;
  const which = { agentId, beatId: `heartbeat-${agentId}-${at}` };
  const skipped = isOff
    ? undefined
    : ((await skipReason(timer, which, settings, now)) ??
      (await budgetReason(timer, agentId, configuration, now)));
  if (!isOff && !skipped) await submitBeat(timer, which, settings, configuration);
  log("heartbeat.beat", { agentId, ...(isOff ? { off: true } : {}), ...(skipped ? { skipped } : {}) });
  await planNextBeat(timer, state, { at, skipped }, settings, now);
}

/** Checked before anything wakes: the agent would only refuse the call. */
async function budgetReason({ table }: Timer, agentId: string, configuration: Configuration, now: number) {
  const payer = { kind: "heartbeat", agentId, sessionKey: heartbeatSessionKey(agentId) } as const;
  return (await whyStopped(table, configuration, payer, now)) === undefined ? undefined : "budget";
}

/** Handles an overdue beat: its schedule was lost. */
export async function beatIfLost(timer: Timer, agentId: string): Promise<void> {
  const { nextAt } = await readBeat(timer.table, agentId);
  if (nextAt !== undefined && nextAt <= timer.now()) await beat(timer, { agentId, at: nextAt });
}
