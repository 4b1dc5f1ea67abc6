import { durationMs } from "../configuration/duration.ts";
import type { Configuration } from "../configuration/schema.ts";
import { addDays, localTime, timeOfDay } from "../runtime/zoned-time.ts";
import { defaultAgentId } from "../session/key/routing.ts";

/** Minimum time between two ticks, in milliseconds: a schedule fires up to a minute late. */
const minEveryMs = 60_000;

/** The hours of a day in which an agent's heartbeat runs. */
export interface ActiveHours {
  /** `HH:MM`, inclusive. */
  start: string;
  /** `HH:MM`, exclusive. Before `start`: the hours span midnight. The same as `start`: the whole day. */
  end: string;
  /** IANA timezone. */
  timezone: string;
}

/** The effective settings of an agent's heartbeat: its own override the defaults. */
export interface BeatSettings {
  /** Milliseconds between two ticks; 0 when the heartbeat is disabled or the agent does not exist. */
  everyMs: number;
  hours: ActiveHours;
  prompt: string;
  /** `last`, `none`, or a channel's name. */
  target: string;
}

/** The ids of the agents that can have a heartbeat: `main`, the default agent, and those of the list. */
export function agentIds({ agents }: Pick<Configuration, "agents">): string[] {
  return [...new Set(["main", defaultAgentId(agents.list), ...agents.list.map(({ id }) => id)])];
}

/** The settings of an agent's heartbeat. `main` need not be in the list. */
export function beatSettings(
  configuration: Pick<Configuration, "agents" | "userTimezone">,
  agentId: string,
): BeatSettings {
  const { agents, userTimezone } = configuration;
  const { defaultHeartbeat } = agents;
  const own = agents.list.find(({ id }) => id === agentId)?.heartbeat;
  const { every, prompt, target } = { ...defaultHeartbeat, ...own };
  const { start, end, timezone = "user" } = { ...defaultHeartbeat.activeHours, ...own?.activeHours };
  const everyMs = agentIds(configuration).includes(agentId) ? durationMs(every) : 0;
  return {
    everyMs: everyMs === 0 ? 0 : Math.max(everyMs, minEveryMs),
    hours: { start, end, timezone: timezone === "user" ? userTimezone : timezone },
    prompt,
    target,
  };
}

/** The settings that determine the times of ticks, as one text. When it changes, the next tick is planned again. */
export function planOf({ everyMs, hours: { start, end, timezone } }: BeatSettings): string {
  return `${everyMs} ${start} ${end} ${timezone}`;
}

/** Whether a time (epoch ms) is in the active hours. */
export function isActive(now: number, { start, end, timezone }: ActiveHours): boolean {
  const { time } = localTime(now, timezone);
  if (start === end) return true;
  return start < end ? start <= time && time < end : start <= time || time < end;
}

/**
 * The time of the next tick after `now`: whole intervals after the last one. A tick outside the active hours is postponed
 * to their start.
 * @param last epoch ms: the last tick, or when the heartbeat was turned on
 * @returns epoch ms; undefined when the heartbeat is disabled, or the hours never occur
 */
export function nextBeat(
  last: number,
  now: number,
  { everyMs, hours }: Pick<BeatSettings, "everyMs" | "hours">,
): number | undefined {
  if (everyMs === 0) return undefined;
  const missed = Math.max(0, Math.floor((now - last) / everyMs));
  const next = last + (missed + 1) * everyMs;
  return isActive(next, hours) ? next : nextStart(next, hours);
}

/**
 * The first start of the active hours after `after`. A day on which a clock change skips them entirely is skipped.
 */
function nextStart(after: number, hours: ActiveHours): number | undefined {
  const today = localTime(after, hours.timezone).date;
  const starts = [0, 1, 2, 3].map((days) => timeOfDay(addDays(today, days), hours.start, hours.timezone));
  return starts.find((start) => start > after && isActive(start, hours));
}
