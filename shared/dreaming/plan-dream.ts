import { createHash } from "node:crypto";
import type { Configuration } from "../configuration/schema.ts";
import { addDays, hourOfDay, localTime } from "../runtime/zoned-time.ts";
import type { Schedules, Table } from "../world/world.ts";
import { type PlannedSweep, readDream, recordPlan } from "./dream-state.ts";

const daySeconds = 86_400;

/** How an agent dreams: docs/memory.md. */
export type DreamSettings = Configuration["dreaming"];

/** The effective settings of an agent: its own override the gateway's, field by field. */
export function dreamSettings(
  { agents, dreaming }: Pick<Configuration, "agents" | "dreaming">,
  agentId: string,
): DreamSettings {
  const own = agents.list.find(({ id }) => id === agentId)?.dreaming;
  return { ...dreaming, ...own, weights: { ...dreaming.weights, ...own?.weights } };
}

/** The settings that determine the time of the next sweep, as one text. When it changes, the sweep is planned again. */
export function dreamPlan({ intervalSecs, atHour }: DreamSettings, timezone: string): string {
  return `${intervalSecs} ${atHour} ${timezone}`;
}

/**
 * When the next sweep is due, epoch ms: one interval after the last. When the interval is a number of days, at the configured
 * hour nearest to that time.
 * @param last the time of the last sweep, or now when there was none
 */
export function nextSweep(last: number, { intervalSecs, atHour }: DreamSettings, timezone: string): number {
  const due = last + intervalSecs * 1000;
  if (intervalSecs % daySeconds !== 0) return due;
  const { date } = localTime(due, timezone);
  const hours = [-1, 0, 1].map((days) => hourOfDay(addDays(date, days), atHour, timezone));
  const nearest = hours.filter((at) => at > last).sort((a, b) => Math.abs(a - due) - Math.abs(b - due));
  return nearest[0] ?? due;
}

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
