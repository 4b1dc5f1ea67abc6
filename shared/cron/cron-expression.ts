import { addDays, instantsOf, localTime } from "../runtime/zoned-time.ts";
import { dayNames, monthNames } from "./time-words.ts";

/** A parsed five-field expression: the matching values of each field, sorted. */
export interface CronExpression {
  minutes: number[];
  hours: number[];
  daysOfMonth: Set<number>;
  months: Set<number>;
  /** 0 is Sunday. */
  daysOfWeek: Set<number>;
  /** Both day fields are restricted: a day that matches either one counts. */
  eitherDay: boolean;
  /** The hour is `*`: runs keep their distance in elapsed time when clocks change. */
  everyHour: boolean;
}

const short = (names: readonly string[]) => names.map((name) => name.slice(0, 3));
const shortMonths = short(monthNames);
const shortDays = short(dayNames);

interface Field {
  name: string;
  min: number;
  max: number;
  /** Names of the values from `min` on. */
  names?: readonly string[];
}

const fields = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: shortMonths },
  { name: "day of week", min: 0, max: 7, names: shortDays },
] as const satisfies readonly Field[];

/**
 * Parses `minute hour day-of-month month day-of-week`, each `*`, a number, a range, a list or a step; months and days
 * of the week also by their English names. 7 is Sunday too.
 * @returns the reason when it is not such an expression
 */
export function parseCronExpression(expr: string): CronExpression | { fault: string } {
  const parts = expr.trim().split(/\s+/);
  if (parts.length !== 5 || parts[0] === "") {
    const found = parts[0] === "" ? 0 : parts.length;
    return {
      fault: `expected 5 fields (minute, hour, day of month, month, day of week), found ${found}: "${expr}"`,
    };
  }
  const values: number[][] = [];
  for (const [i, field] of fields.entries()) {
    const parsed = parseField(parts[i] ?? "", field);
    if ("fault" in parsed) return parsed;
    values.push(parsed.values);
  }
  const [minutes = [], hours = [], daysOfMonth = [], months = [], daysOfWeek = []] = values;
  const isAny = (part: string | undefined) => part?.startsWith("*") === true || part === "?";
  return {
    minutes,
    hours,
    daysOfMonth: new Set(daysOfMonth),
    months: new Set(months),
    daysOfWeek: new Set(daysOfWeek.map((day) => day % 7)),
    eitherDay: !isAny(parts[2]) && !isAny(parts[4]),
    everyHour: parts[1] === "*",
  };
}

function parseField(text: string, field: Field): { values: number[] } | { fault: string } {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const range = parseRange(part, field);
    if (!range) {
      const { name, min, max } = field;
      return { fault: `${name}: "${part}" is not a number, range or step within ${min} to ${max}` };
    }
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return { values: [...values].sort((a, b) => a - b) };
}

function parseRange(text: string, field: Field): { from: number; to: number; step: number } | undefined {
  const [, body = "", stepText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const step = stepText === undefined ? 1 : Number(stepText);
  if (body === "" || step < 1) return undefined;
  if (body === "*" || body === "?") return { from: field.min, to: lastOf(field), step };
  const [fromText = "", toText, ...more] = body.split("-");
  const from = valueIn(fromText, field);
  const to = toText === undefined ? (stepText === undefined ? from : lastOf(field)) : valueIn(toText, field);
  if (from === undefined || to === undefined || more.length > 0 || from > to) return undefined;
  return { from, to, step };
}

/** The last value of `*`: not 7, the second number of Sunday. */
function lastOf({ max, names }: Field): number {
  return names === shortDays ? 6 : max;
}

function valueIn(text: string, { min, max, names }: Field): number | undefined {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + min;
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}

/** Number of days searched for the next run: more than eight years, for 29 February around the year 2100. */
const maxDays = 3000;

/** An upper bound for how far clocks are ever set back, ms. */
const maxSetBackMs = 3 * 3_600_000;

/**
 * The first time after `after` that matches an expression in a timezone; epoch ms, undefined when there is none. A job whose
 * time is skipped by a clock change runs right after the change; a job whose time occurs twice runs the first time. With `*`
 * for the hour, it does not run at skipped times and runs twice at repeated ones, so that the distance stays the same.
 */
export function nextCronTime(
  expression: CronExpression,
  after: number,
  timezone: string,
): number | undefined {
  // Clocks may have been set back: times of the day before may still come.
  let day = addDays(localTime(after, timezone).date, -1);
  for (let i = 0; i < maxDays; i++, day = addDays(day, 1)) {
    if (!holdsOn(expression, day)) continue;
    const found = firstOfDay(expression, day, after, timezone);
    if (found !== undefined) return found;
  }
  return undefined;
}

function holdsOn(expression: CronExpression, day: string): boolean {
  const { daysOfMonth, months, daysOfWeek, eitherDay } = expression;
  const date = new Date(`${day}T00:00:00Z`);
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const ofMonth = daysOfMonth.has(date.getUTCDate());
  const ofWeek = daysOfWeek.has(date.getUTCDay());
  return eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

function firstOfDay(
  { hours, minutes, everyHour }: CronExpression,
  day: string,
  after: number,
  timezone: string,
): number | undefined {
  const { date, time } = localTime(after, timezone);
  const shown = Date.parse(`${date}T${time}:00Z`);
  let best: { at: number; wall: number } | undefined;
  for (const hour of hours) {
    for (const minute of minutes) {
      const wall = Date.parse(`${day}T00:00:00Z`) + (hour * 60 + minute) * 60_000;
      if (wall < shown - maxSetBackMs) continue;
      if (best && wall > best.wall + maxSetBackMs) return best.at;
      const shownAt = new Date(wall).toISOString().slice(11, 16);
      const { first, second, skipped } = instantsOf(day, shownAt, timezone);
      const times = everyHour ? [skipped ? undefined : first, second] : [first];
      for (const at of times)
        if (at !== undefined && at > after && (!best || at < best.at)) best = { at, wall };
    }
  }
  return best?.at;
}
