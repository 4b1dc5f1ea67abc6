import { addDays, localTime, timeOfDay, weekdays } from "../runtime/zoned-time.ts";

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const amount = String.raw`(\d+(?:\.\d+)?|an?|half an)\s*(seconds?|secs?|s|minutes?|mins?|min|m|hours?|hrs?|h|days?|d|weeks?|w)`;
const amountPattern = new RegExp(`^(?:and )?${amount}(?![a-z])[\\s,]*`);

/** Milliseconds of `20 minutes`, `2h30m`, `an hour`, `1 day and 2 hours`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  let rest = text.trim().toLowerCase();
  if (rest === "") return undefined;
  let total = 0;
  while (rest !== "") {
    const found = amountPattern.exec(rest);
    if (!found) return undefined;
    const [whole, count = "", unit = ""] = found;
    const number = count === "half an" ? 0.5 : count.startsWith("a") ? 1 : Number(count);
    total += number * (unitMs[unit.charAt(0)] ?? 0);
    rest = rest.slice(whole.length);
  }
  return Math.round(total);
}

/** `HH:MM` of `7:30`, `9am`, `9.15 pm`, `noon`; undefined for any other text. @param bare whether a single number is an hour */
export function parseClock(text: string, bare: boolean): string | undefined {
  if (text === "noon") return "12:00";
  if (text === "midnight") return "00:00";
  const [, hourText, minuteText, half] = /^(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?$/.exec(text) ?? [];
  if (hourText === undefined || (minuteText === undefined && half === undefined && !bare)) return undefined;
  let hour = Number(hourText);
  const minute = Number(minuteText ?? "0");
  if (half !== undefined && (hour < 1 || hour > 12)) return undefined;
  if (half !== undefined) hour = (hour % 12) + (half === "pm" ? 12 : 0);
  if (hour > 23 || minute > 59) return undefined;
  return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
}

/** The English names of the days, starting with Sunday, and of the months, in lower case. */
export const dayNames = weekdays.map((day) => day.toLowerCase());
export const monthNames = [
  ...["january", "february", "march", "april", "may", "june"],
  ...["july", "august", "september", "october", "november", "december"],
];

/** The number of a day of the week (0 is Sunday) by its English name, its plural or its first three letters. */
export function weekdayNumber(name: string): number | undefined {
  const index = dayNames.findIndex((day) => isName(name.replace(/s$/, ""), day) || isName(name, day));
  return index < 0 ? undefined : index;
}

function isName(text: string, name: string): boolean {
  return text.length >= 3 && name.startsWith(text);
}

/**
 * Parses a time in words, in a timezone; epoch ms, undefined for any other text:
 * `2026-02-14 09:30`, `2026-02-14T09:30Z`, `in 20 minutes`, `tomorrow 9:15am`, `friday at 18:00`, `14 feb at 9:30`, `7:30`.
 * A time without a day means its next occurrence, and so does a day without a year.
 */
export function parseTime(text: string, now: number, timezone: string): number | undefined {
  const words = text.trim().toLowerCase().replace(/\s+/g, " ");
  if (words.startsWith("in ")) {
    const duration = parseDuration(words.slice("in ".length));
    return duration === undefined ? undefined : now + duration;
  }
  if (/^\d{4}-\d\d-\d\d[t ]\d\d:\d\d(:\d\d(\.\d+)?)? ?(z|[+-]\d\d:?\d\d)$/.test(words)) {
    const at = Date.parse(
      words
        .toUpperCase()
        .replace(/^(\S{10}) /, "$1T")
        .replace(" ", ""),
    );
    return Number.isNaN(at) ? undefined : at;
  }
  const iso = /^(\d{4}-\d\d-\d\d)[t ](?:at )?(.+)$/.exec(words);
  if (iso) return onDay(iso[1] ?? "", (iso[2] ?? "").replace(/^(\d\d:\d\d):\d\d(\.\d+)?$/, "$1"), timezone);
  const today = localTime(now, timezone).date;
  const [, day, clock = ""] =
    /^(?:on |next )?(today|tomorrow|[a-z]{3,9})(?:,? at |,? )(.+)$/.exec(words) ?? [];
  if (day === "today") return onDay(today, clock, timezone);
  if (day === "tomorrow") return onDay(addDays(today, 1), clock, timezone);
  // `mondays` is a repeated schedule, not a time.
  const weekday = day === undefined || day.endsWith("days") ? undefined : weekdayNumber(day);
  if (weekday !== undefined) return nextOf(now, timezone, 8, clock, (date) => dayOfWeek(date) === weekday);
  return parseDate(words, now, timezone) ?? nextOf(now, timezone, 2, words, () => true);
}

/** `14 feb at 9:30`, `feb 14, 2027 9am`. */
function parseDate(words: string, now: number, timezone: string): number | undefined {
  const dayFirst =
    /^(?:on )?(\d{1,2})(?:st|nd|rd|th)? (?:of )?([a-z]{3,9})(?:,? (\d{4}))?,? (?:at )?(.+)$/.exec(words);
  const monthFirst = /^(?:on )?([a-z]{3,9}) (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,? (?:at )?(.+)$/.exec(
    words,
  );
  const [, number, name, year, clock = ""] =
    dayFirst ??
    (monthFirst && [monthFirst[0], monthFirst[2], monthFirst[1], monthFirst[3], monthFirst[4]]) ??
    [];
  if (name === undefined) return undefined;
  const month = monthNames.findIndex((one) => isName(name, one)) + 1;
  if (month === 0) return undefined;
  const two = (value: number) => String(value).padStart(2, "0");
  const suffix = `-${two(month)}-${two(Number(number))}`;
  if (year !== undefined) return onDay(`${year}${suffix}`, clock, timezone);
  return nextOf(now, timezone, 366 * 8, clock, (date) => date.endsWith(suffix));
}

/** The instant of a clock time on a day; undefined when there is no such day or time. */
function onDay(day: string, clock: string, timezone: string): number | undefined {
  const time = parseClock(clock, true);
  const date = new Date(`${day}T00:00:00Z`);
  const isDay = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
  return isDay && time !== undefined ? timeOfDay(day, time, timezone) : undefined;
}

/** The first time after `now` with this clock time on a day for which `holds` is true, among the next `days`. */
function nextOf(
  now: number,
  timezone: string,
  days: number,
  clock: string,
  holds: (date: string) => boolean,
): number | undefined {
  const isBare = days > 2 || clock.startsWith("at ");
  const time = parseClock(clock.replace(/^at /, ""), isBare);
  if (time === undefined) return undefined;
  let date = localTime(now, timezone).date;
  for (let i = 0; i < days; i++, date = addDays(date, 1)) {
    if (!holds(date)) continue;
    const at = timeOfDay(date, time, timezone);
    if (at > now) return at;
  }
  return undefined;
}

function dayOfWeek(date: string): number {
  return new Date(`${date}T00:00:00Z`).getUTCDay();
}
