import { durationMs } from "../configuration/duration.ts";
import type { Configuration } from "../configuration/schema.ts";
import { addDays, localTime, timeOfDay } from "../runtime/zoned-time.ts";
import { defaultAgentId } from "../session/key/routing.ts";

/** The least time between two beats, in milliseconds: a schedule fires up to a minute late. */
const minEveryMs = 60_000;

/** The hours of a day in which an agent's heart beats. */
export interface ActiveHours {
  /** `HH:MM`, inclusive. */
  start: string;
  /** `HH:MM`, exclusive. Before `start`: over midnight. The same as `start`: the whole day. */
  end: string;
  /** IANA timezone. */
  timezone: string;
}

/** The settings of an agent's heartbeat: its own over the default ones. */
export interface BeatSettings {
  /** Milliseconds between two beats; 0 when it is switched off, or there is no such agent. */
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

/** What the times of the beats depend on, as one text. When it differs, the next beat is planned anew. */
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
 * The time of the next beat, after `now`: whole intervals after the last one. A beat that would be outside of
 * the active hours is put off until they begin, so that nothing runs in between.
 * @param last epoch ms: the last beat, or when the heartbeat was turned on
 * @returns epoch ms; undefined when the heartbeat is switched off, or the hours never come
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
 * The first time after `after` at which the active hours begin. A day on which clocks are set forward over the
 * whole of them is passed over.
 */
function nextStart(after: number, hours: ActiveHours): number | undefined {
  const today = localTime(after, hours.timezone).date;
  const starts = [0, 1, 2, 3].map((days) => timeOfDay(addDays(today, days), hours.start, hours.timezone));
  return starts.find((start) => start > after && isActive(start, hours));
}
