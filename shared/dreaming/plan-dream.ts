import { createHash } from "node:crypto";
import type { Configuration } from "../configuration/schema.ts";
import { absent, any, differs } from "../world/expression.ts";
import type { Schedules, Table } from "../world/world.ts";
import { dreamPlan, dreamSettings, nextSweep } from "./dream-settings.ts";
import { type PlannedSweep, readDream, recordPlan } from "./dream-state.ts";

/** What planning reads of the configuration. */
export type DreamConfiguration = Pick<Configuration, "agents" | "dreaming" | "userTimezone" | "workspaceGit">;

/**
 * Schedules the sweep that follows one. After a crash nobody has noted it, and the schedule is ignored when it fires.
 * @param last when the last sweep was, or now when there was none; epoch ms
 * @returns what is to be noted; undefined when the agent does not dream
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

/** Plans a sweep, unless one is planned by the same settings: something was recalled, so there is something to dream of. */
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
  await recordPlan(table, agentId, next, any(absent("nextAt"), differs("plan", plan)));
}
