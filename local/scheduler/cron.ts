import { instantOf, wallTimeAt } from "./wall-clock.ts";

/** The six fields of an EventBridge Scheduler cron expression. */
export interface Cron {
  minutes: number[];
  hours: number[];
  months: number[];
  years: number[];
  /** Whether the day of month and the day of week match. */
  matchesDay(year: number, month: number, day: number): boolean;
}

const monthNames = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const dayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** Days that are looked at for the next time: a leap day on a given weekday comes within forty years. */
const horizonDays = 40 * 366;

/**
 * Parses `minutes hours day-of-month month day-of-week year`, with `, - * / ? L W #` as EventBridge Scheduler has
 * them. Days of the week count from 1, Sunday; one of the two day fields must be `?`.
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based
 * @throws RangeError that names the field
 */
export function parseCron(text: string): Cron {
  const fields = text.trim().split(/\s+/);
  const [minutes = "", hours = "", dayOfMonth = "", month = "", dayOfWeek = "", year = ""] = fields;
  if (fields.length !== 6) throw new RangeError("a cron expression has six fields");
  if ((dayOfMonth === "?") === (dayOfWeek === "?")) {
    throw new RangeError("one of day-of-month and day-of-week must be ?, and only one");
  }
  return {
    minutes: parseField("minutes", minutes, 0, 59),
    hours: parseField("hours", hours, 0, 23),
    months: parseField("month", month, 1, 12, monthNames),
    years: parseField("year", year, 1970, 2199),
    matchesDay: dayOfMonth === "?" ? parseDayOfWeek(dayOfWeek) : parseDayOfMonth(dayOfMonth),
  };
}

/**
 * The first time after an instant, in epoch milliseconds. A wall time that is skipped when clocks are set forward is
 * left out; one that comes twice counts once.
 */
export function nextCronTime(cron: Cron, timezone: string, after: number): number | undefined {
  const today = wallTimeAt(after, timezone);
  for (let days = 0; days < horizonDays; days += 1) {
    const date = new Date(Date.UTC(today.year, today.month - 1, today.day + days));
    const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    if (!cron.years.includes(year) || !cron.months.includes(month) || !cron.matchesDay(year, month, day))
      continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const instant = instantOf({ year, month, day, hour, minute, second: 0 }, timezone);
        if (instant !== undefined && instant > after) return instant;
      }
    }
  }
  return undefined;
}

/** Lists, ranges, steps and names; ascending, each value once. */
function parseField(name: string, text: string, min: number, max: number, names: string[] = []): number[] {
  const values = new Set<number>();
  const numberOf = (word: string) => {
    const named = names.indexOf(word.toUpperCase());
    const value = named >= 0 ? named + 1 : /^\d+$/.test(word) ? Number(word) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new RangeError(`${word} is no value of ${name}`);
  };
  for (const part of text.split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [from = "", to] = range.split("-");
    const first = from === "*" ? min : numberOf(from);
    const last = to !== undefined ? numberOf(to) : from === "*" || part.includes("/") ? max : first;
    if (!/^[1-9]\d*$/.test(step) || last < first) throw new RangeError(`${part} is no range of ${name}`);
    for (let value = first; value <= last; value += Number(step)) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

function parseDayOfMonth(text: string): Cron["matchesDay"] {
  if (text === "L") return (year, month, day) => day === daysIn(year, month);
  const weekday = /^(\d+)W$/.exec(text)?.[1];
  if (weekday !== undefined) {
    const [wanted = 0] = parseField("day-of-month", weekday, 1, 31);
    return (year, month, day) => wanted <= daysIn(year, month) && day === nearestWeekday(year, month, wanted);
  }
  const days = parseField("day-of-month", text, 1, 31);
  return (_year, _month, day) => days.includes(day);
}

function parseDayOfWeek(text: string): Cron["matchesDay"] {
  const special = /^(\w+?)(?:#([1-5])|(L))$/.exec(text);
  if (special !== null && text !== "L") {
    const [, word = "", nth] = special;
    const [wanted] = parseField("day-of-week", word, 1, 7, dayNames);
    return (year, month, day) => {
      const isNth = nth ? Math.ceil(day / 7) === Number(nth) : day > daysIn(year, month) - 7;
      return weekdayOf(year, month, day) === wanted && isNth;
    };
  }
  const days = text === "L" ? [7] : parseField("day-of-week", text, 1, 7, dayNames);
  return (year, month, day) => days.includes(weekdayOf(year, month, day));
}

/** The weekday nearest to a day, within its month. */
function nearestWeekday(year: number, month: number, day: number): number {
  const weekday = weekdayOf(year, month, day);
  if (weekday === 7) return day > 1 ? day - 1 : day + 2;
  if (weekday === 1) return day < daysIn(year, month) ? day + 1 : day - 2;
  return day;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** 1 for Sunday. */
function weekdayOf(year: number, month: number, day: number): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 1;
}
