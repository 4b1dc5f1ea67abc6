import { createHash } from "node:crypto";
import type { Configuration } from "../configuration/schema.ts";
import type { Schedules, Table } from "../world/world.ts";
import { dreamPlan, dreamSettings, nextSweep } from "./dream-settings.ts";
import { type PlannedSweep, readDream, recordPlan } from "./dream-state.ts";

/** The parts of the configuration that planning reads. */
export type DreamConfiguration = Pick<Configuration, "agents" | "dreaming" | "userTimezone" | "workspaceGit">;

/**
 * Schedules the next sweep. If the caller crashes before it records the result, the schedule is ignored when it fires.
 * @param last the time of the last sweep, or now when there was none; epoch ms
 * @returns the plan to record; undefined when dreaming is off for the agent
 */
export async function scheduleDream(
  schedules: Schedules,
  agentId: string,
  last: number,
  configuration: DreamConfiguration,
): Promise<PlannedSweep | undefined> {
  const settings = dreamSettings(configuration, agentId);
  if (!settings.enabled) return undefined;
  const timezone = configuration.userTimezone;
  const nextAt = nextSweep(last, settings, timezone);
  const digest = createHash("sha256").update(agentId).digest("hex").slice(0, 32);
  await schedules.once(`dream-${digest}-${nextAt}`, nextAt, { kind: "dream", agentId, at: nextAt });
  return { nextAt, plan: dreamPlan(settings, timezone) };
}

/** Plans a sweep after a recall, unless one is planned with the same settings. */
export async function planDream(
  { table, schedules }: { table: Table; schedules: Schedules },
  agentId: string,
  configuration: DreamConfiguration,
  now: number,
): Promise<void> {
  const settings = dreamSettings(configuration, agentId);
  const plan = dreamPlan(settings, configuration.userTimezone);
  const state = await readDream(table, agentId);
  if (!settings.enabled || (state.nextAt !== undefined && state.plan === plan)) return;
  const next = await scheduleDream(schedules, agentId, state.last?.at ?? now, configuration);
  if (next) await recordPlan(table, agentId, next, now);
}
