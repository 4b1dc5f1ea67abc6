import { type DreamState, readDream, recordIdle } from "../../shared/dreaming/dream-state.ts";
import { dreamSettings } from "../../shared/dreaming/plan-dream.ts";
import { log } from "../../shared/runtime/log.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import type { Timer } from "./timer.ts";

type Dream = Omit<Extract<TimerEvent, { kind: "dream" }>, "kind">;

/**
 * Handles the time of an agent's memory sweep, which also plans the next one. A replaced time is ignored. After a failure the
 * time stays planned: the Scheduler or the sweep of overdue items repeats it.
 */
export async function dream(timer: Timer, { agentId, at }: Dream): Promise<void> {
  const state = await readDream(timer.table, agentId);
  // Use the schedule's time if this clock is slow.
  if (state.nextAt === at) await sweepOf(timer, agentId, state, Math.max(timer.now(), at));
}

/** Handles an overdue item: the schedule of a memory sweep was lost, or a memory sweep was interrupted. */
export async function dreamIfLost(timer: Timer, agentId: string): Promise<void> {
  const state = await readDream(timer.table, agentId);
  const isDue = state.sweep !== undefined || (state.nextAt !== undefined && state.nextAt <= timer.now());
  if (isDue) await sweepOf(timer, agentId, state, timer.now());
  else await recordIdle(timer.table, agentId, state);
}

async function sweepOf(timer: Timer, agentId: string, state: DreamState, now: number): Promise<void> {
  const configuration = await timer.configuration.load({ fresh: true });
  if (!state.sweep && !dreamSettings(configuration, agentId).enabled) {
    log("dream.off", { agentId });
    return recordIdle(timer.table, agentId, { ...state, nextAt: undefined });
  }
  await timer.sweepMemories({ agentId, configuration, now });
}
