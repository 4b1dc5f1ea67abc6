import { runSchedule, type ScheduleOptions } from "./schedule.ts";
import { type FaultName, faultNames } from "./world/faults.ts";

/** The result of many schedules. */
export interface Summary {
  schedules: number;
  /** Seed of the first schedule. */
  seed: number;
  messages: number;
  faults: Record<FaultName, number>;
  /** The number of schedules with a fault. */
  violations: number;
  ms: number;
}

/** The first schedule with a fault. */
export interface Failure {
  seed: number;
  violations: string[];
}

/** Runs schedules with consecutive seeds. */
export async function runSchedules(
  seed: number,
  schedules: number,
  options: Pick<ScheduleOptions, "mutate"> = {},
): Promise<Summary & { failures: Failure[] }> {
  const startedAt = performance.now();
  const faults = Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<FaultName, number>;
  const failures: Failure[] = [];
  let messages = 0;
  for (let one = seed; one < seed + schedules; one++) {
    const result = await runSchedule({ ...options, seed: one });
    messages += result.messages;
    for (const name of faultNames) faults[name] += result.faults[name];
    if (result.violations.length > 0) failures.push({ seed: one, violations: result.violations });
  }
  const ms = Math.round(performance.now() - startedAt);
  return { schedules, seed, messages, faults, violations: failures.length, ms, failures };
}
