/** Local date and time in a timezone. */
export interface LocalTime {
  /** `YYYY-MM-DD`. */
  date: string;
  /** `HH:MM`, 00 to 23 hours. */
  time: string;
  /** In English: `Monday`. */
  weekday: string;
}

/** The days of the week in English, starting with Sunday, as `Date` counts them. */
export const weekdays = [
  "Sunday",
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
] as const;

/** The range of displayed days: from the first year of epoch time to the last four-digit year. Epoch milliseconds. */
const shownDays = { first: Date.parse("1970-01-02T00:00:00Z"), last: Date.parse("9999-12-30T00:00:00Z") };

/**
 * `now` in epoch milliseconds, `timezone` an IANA name; an unknown name is treated as UTC, so that a run does
 * not fail. A time outside the years 1970 to 9999, which a platform may send, becomes the nearest one inside.
 */
export function localTime(now: number, timezone: string): LocalTime {
  const instant = Math.min(Math.max(now, shownDays.first), shownDays.last);
  const shown = new Date(wallTimeAt(instant, timezone));
  const text = shown.toISOString();
  return { date: text.slice(0, 10), time: text.slice(11, 16), weekday: weekdays[shown.getUTCDay()] ?? "" };
}

/** The calendar day `count` days after `day`, or before it when negative. Days are `YYYY-MM-DD`. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);
}

/** The instant at which an hour of a day starts in a timezone, as `timeOfDay`. `hour` 0 to 23. */
export function hourOfDay(day: string, hour: number, timezone: string): number {
  return timeOfDay(day, `${String(hour).padStart(2, "0")}:00`, timezone);
}

/**
 * The instant, in epoch milliseconds, of a local time on a day. If the time occurs twice, because clocks are set back, the
 * first one. If it is skipped, because clocks are set forward, the moment of the change.
 * @param day `YYYY-MM-DD`
 * @param time `HH:MM`, 00:00 to 24:00
 */
export function timeOfDay(day: string, time: string, timezone: string): number {
  return instantsOf(day, time, timezone).first;
}

/** The instants of a local time. Epoch milliseconds. */
export interface Instants {
  /** As `timeOfDay`. */
  first: number;
  /** The second one, when the time occurs twice. */
  second?: number;
  /** The time does not occur on that day, because clocks are set forward. */
  skipped?: true;
}

/** As `timeOfDay`, and whether the time is skipped or occurs twice. */
export function instantsOf(day: string, time: string, timezone: string): Instants {
  const wall = Date.parse(`${day}T${time}:00Z`);
  // The offsets a day before and a day after bracket any change of clocks around the time.
  const offsets = [wall - dayMs, wall + dayMs].map((nearby) => wallTimeAt(nearby, timezone) - nearby);
  const candidates = [...new Set(offsets.map((offset) => wall - offset))].sort((a, b) => a - b);
  const [first, last] = candidates.filter((candidate) => wallTimeAt(candidate, timezone) === wall);
  if (first !== undefined) return last === undefined ? { first } : { first, second: last };
  const [before = wall, after = wall] = candidates;
  const change = changeBetween(before, after, (instant) => wallTimeAt(instant, timezone) >= wall);
  return { first: change, skipped: true };
}

/** A day of 24 hours, in milliseconds. */
export const dayMs = 86_400_000;

/**
 * The first instant in (`before`, `after`] for which `holds` is true. It must be false at `before` and true
 * at `after`.
 */
function changeBetween(before: number, after: number, holds: (instant: number) => boolean): number {
  let [low, high] = [before, after];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * The local time in a timezone, expressed as if it were UTC: epoch milliseconds, without fractions of a
 * second.
 */
function wallTimeAt(epochMs: number, timezone: string): number {
  const second = Math.floor(epochMs / 1000) * 1000;
  // A shortcut for the timezone of most sessions: Intl.DateTimeFormat needs microseconds.
  if (timezone === "UTC") return second;
  // Since 1973 clocks have changed at whole minutes of UTC only.
  if (second < wholeMinutesSince) return formattedTimeAt(second, timezone);
  const minute = Math.floor(second / minuteMs) * minuteMs;
  const key = `${minute} ${timezone}`;
  const known = offsets.get(key);
  if (known !== undefined) return second + known;
  const offset = formattedTimeAt(minute, timezone) - minute;
  if (offsets.size >= 200) offsets.clear();
  offsets.set(key, offset);
  return second + offset;
}

const minuteMs = 60_000;
const wholeMinutesSince = Date.parse("1973-01-01T00:00:00Z");

/** Cached offsets from UTC in milliseconds, by minute and timezone: a formatter is much slower. */
const offsets = new Map<string, number>();

/** Like `wallTimeAt`, with a formatter. */
function formattedTimeAt(epochMs: number, timezone: string): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatIn(timezone).formatToParts(epochMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Whether a name is an IANA timezone. */
export function isTimezone(name: string): boolean {
  if (timezones.has(name)) return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    return false;
  }
  timezones.add(name);
  return true;
}

/** Cached valid timezones: each read of the configuration checks one, and creating a formatter is slow. */
const timezones = new Set<string>();

const formats = new Map<string, Intl.DateTimeFormat>();

/** A cached formatter; an unknown timezone is treated as UTC. */
function formatIn(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known) return known;
  const fields = {
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  } as const;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { ...fields, timeZone: timezone });
  } catch {
    format = new Intl.DateTimeFormat("en-US", { ...fields, timeZone: "UTC" });
  }
  formats.set(timezone, format);
  return format;
}
