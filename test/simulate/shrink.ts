import type { Action } from "./load/actions.ts";
import { runSchedule, type ScheduleOptions } from "./schedule.ts";

/** A failing schedule that was reduced to the actions and faults it needs. */
export interface Shrunk {
  seed: number;
  actions: readonly Action[];
  leftOut: ReadonlySet<number>;
  violations: string[];
}

/**
 * Removes actions and faults of a failing schedule one by one, as long as it still fails.
 * @param seed of a failing schedule
 */
export async function shrink(seed: number, options: Pick<ScheduleOptions, "mutate"> = {}): Promise<Shrunk> {
  const whole = await runSchedule({ ...options, seed });
  let smallest: Shrunk = { seed, actions: whole.actions, leftOut: new Set(), violations: whole.violations };
  const attempt = async (change: Partial<Pick<Shrunk, "actions" | "leftOut">>): Promise<boolean> => {
    const { actions, leftOut } = { ...smallest, ...change };
    const { violations } = await runSchedule({ ...options, seed, actions, leftOut });
    if (violations.length > 0) smallest = { seed, actions, leftOut, violations };
    return violations.length > 0;
  };
  for (let i = smallest.actions.length - 1; i >= 0; i--)
    await attempt({ actions: smallest.actions.filter((_, index) => index !== i) });
  for (let fault = whole.drawn - 1; fault >= 0; fault--)
    await attempt({ leftOut: new Set([...smallest.leftOut, fault]) });
  return smallest;
}
