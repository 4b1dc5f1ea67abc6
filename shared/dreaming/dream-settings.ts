import type { Configuration } from "../configuration/schema.ts";
import { addDays, hourOfDay, localTime } from "../runtime/zoned-time.ts";

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
