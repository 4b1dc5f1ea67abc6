import * as v from "valibot";
import { type CronSchedule, cronScheduleField } from "../protocol/cron.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { parseCronExpression } from "./cron-expression.ts";
import { parseClock, parseDuration, parseTime, weekdayNumber } from "./time-words.ts";

const examples =
  '"in 20 minutes", "tomorrow 9:15am", "every weekday at 7:30", "every 2 hours" or five fields such as "30 7 * * 1-5"';

/**
 * Parses a schedule in words: a time (`parseTime`), `every 2 hours`, `every weekday at 7:30`, `mondays and fridays at 9am`,
 * `every month on the 1st at 8:00`, or five fields.
 * @param timezone the timezone of the words; a five-field schedule stores it
 * @throws PeerError 400 with examples
 */
export function parseSchedule(text: string, now: number, timezone: string): CronSchedule {
  const words = text.trim().toLowerCase().replace(/\s+/g, " ");
  if (isExpression(words)) {
    const parsed = parseCronExpression(text);
    if ("fault" in parsed) throw refused(parsed.fault);
    return { kind: "cron", expr: words, tz: timezone };
  }
  const atMs = parseTime(words, now, timezone);
  if (atMs !== undefined) return { kind: "at", atMs };
  const repeated = parseRepeated(words, now, timezone);
  if (repeated) return repeated;
  throw refused(`"${text}" is not understood; write it as ${examples}`);
}

/** Whether a text looks like a cron expression with any number of fields. */
function isExpression(words: string): boolean {
  const parts = words.split(" ");
  const isField = (part: string) => /^(?:[\d*?][\d*?,/-]*|[a-z]{3}(?:[-,][a-z]{3})*)$/.test(part);
  return parts.every(isField) && (words.includes("*") || parts.length === 5);
}

function parseRepeated(words: string, now: number, timezone: string): CronSchedule | undefined {
  const alone: Record<string, string> = { hourly: "every hour", daily: "every day", weekly: "every week" };
  const [, rest] = /^(?:every|each) (.+)$/.exec(alone[words] ?? words) ?? [];
  if (rest !== undefined) {
    const [period = "", anchor] = rest.split(/ (?:from|starting(?: at| on)?) /);
    const everyMs = parseDuration(/^\d|^half/.test(period) ? period : `a ${period}`);
    const anchorMs = anchor === undefined ? undefined : parseTime(anchor, now, timezone);
    if (everyMs !== undefined && (anchor === undefined || anchorMs !== undefined))
      return { kind: "every", everyMs, ...(anchorMs === undefined ? {} : { anchorMs }) };
  }
  const [, days = "", clocks = ""] =
    /^(?:(?:every|each|on) )?(.+?),? (?:at )?([\d:.apm ]+(?:(?:,| and) ?[\d:.apm ]+)*|noon|midnight)$/.exec(
      words,
    ) ?? [];
  const times = clocks.split(/,| and /).map((clock) => parseClock(clock.trim(), true));
  const dayFields = daysOf(days);
  if (!dayFields || times.some((time) => time === undefined)) return undefined;
  const minutes = new Set(times.map((time) => Number(time?.slice(3))));
  if (minutes.size !== 1) return undefined;
  const hours = times.map((time) => Number(time?.slice(0, 2))).sort((a, b) => a - b);
  return { kind: "cron", expr: `${[...minutes].join()} ${hours.join()} ${dayFields}`, tz: timezone };
}

/** The fields day of month, month and day of week of `weekday`, `mondays and fridays`, `month on the 1st`. */
function daysOf(text: string): string | undefined {
  if (/^(?:day|daily)$/.test(text)) return "* * *";
  if (/^(?:weekdays?|working days?|workdays?)$/.test(text)) return "* * 1-5";
  if (/^weekends?$/.test(text)) return "* * 0,6";
  const [, ofMonth] =
    /^(?:(?:month|monthly) on the |the )?(\d{1,2})(?:st|nd|rd|th)(?: of (?:every|each|the) month)?$/.exec(
      text,
    ) ?? [];
  if (ofMonth !== undefined)
    return Number(ofMonth) >= 1 && Number(ofMonth) <= 31 ? `${Number(ofMonth)} * *` : undefined;
  const names = text.replace(/^(?:weekly|week) on /, "").split(/,? and |, ?/);
  const days = names.map((name) => weekdayNumber(name));
  if (days.some((day) => day === undefined)) return undefined;
  return `* * ${[...new Set(days)].sort().join()}`;
}

const number = v.pipe(v.number(), v.finite(), v.minValue(0));

/** The fields that a model may use in a schedule, besides those of the protocol. */
const looseSchedule = v.looseObject({
  kind: v.optional(v.string()),
  at: v.optional(v.union([v.string(), number])),
  in: v.optional(v.string()),
  inMs: v.optional(number),
  inSeconds: v.optional(number),
  inMinutes: v.optional(number),
  inHours: v.optional(number),
  every: v.optional(v.string()),
  everyMinutes: v.optional(number),
  everyHours: v.optional(number),
  everyDays: v.optional(number),
  anchor: v.optional(v.union([v.string(), number])),
  cron: v.optional(v.string()),
  expr: v.optional(v.string()),
  tz: v.optional(v.string()),
});

/**
 * Parses a schedule that a model wrote: words, or an object of the protocol whose times may also be words (`at`, `in`,
 * `everyMinutes`, `anchor`). A time without an offset is in `tz`, else in the user's timezone.
 * @throws PeerError 400 with the reason
 */
export function readSchedule(written: unknown, now: number, timezone: string): CronSchedule {
  if (typeof written === "string") return parseSchedule(written, now, timezone);
  const loose = v.safeParse(looseSchedule, written);
  if (!loose.success) throw refused(`${v.getDotPath(loose.issues[0]) ?? "it"}: ${loose.issues[0].message}`);
  const given = loose.output;
  const tz = given.tz ?? timezone;
  const built = fromPeriod(given, now, tz) ?? fromTime(given, now, tz);
  if (built) return built;
  if (given.cron !== undefined || given.expr !== undefined)
    return { kind: "cron", expr: given.expr ?? given.cron ?? "", tz };
  const strict = v.safeParse(cronScheduleField, written);
  if (strict.success) return strict.output;
  throw refused(`write it as ${examples}`);
}

type Loose = v.InferOutput<typeof looseSchedule>;

function fromTime(given: Loose, now: number, timezone: string): CronSchedule | undefined {
  const { at, inMs, inSeconds, inMinutes, inHours } = given;
  const units = [
    [inMs, 1],
    [inSeconds, 1000],
    [inMinutes, 60_000],
    [inHours, 3_600_000],
  ] as const;
  for (const [count, ms] of units)
    if (count !== undefined) return { kind: "at", atMs: Math.round(now + count * ms) };
  if (given.in !== undefined)
    return { kind: "at", atMs: timeIn(`in ${given.in.replace(/^in /i, "")}`, now, timezone) };
  return at === undefined ? undefined : { kind: "at", atMs: timeIn(at, now, timezone) };
}

function fromPeriod(given: Loose, now: number, timezone: string): CronSchedule | undefined {
  const { everyMinutes, everyHours, everyDays, everyMs, anchor, anchorMs } = given;
  const units = [
    [everyMinutes, 60_000],
    [everyHours, 3_600_000],
    [everyDays, 86_400_000],
    [typeof everyMs === "number" ? everyMs : undefined, 1],
  ] as const;
  const [count, ms] = units.find(([one]) => one !== undefined) ?? [];
  if (count === undefined && given.every === undefined) return undefined;
  if (given.every !== undefined && count === undefined) {
    const repeated = parseSchedule(`every ${given.every.replace(/^every /i, "")}`, now, timezone);
    if (repeated.kind !== "every") return repeated;
    return { ...repeated, ...anchored(anchor ?? anchorMs, now, timezone) };
  }
  const period = Math.round((count ?? 0) * (ms ?? 1));
  return { kind: "every", everyMs: period, ...anchored(anchor ?? anchorMs, now, timezone) };
}

function anchored(anchor: unknown, now: number, timezone: string): { anchorMs?: number } {
  if (typeof anchor !== "string" && typeof anchor !== "number") return {};
  return { anchorMs: timeIn(anchor, now, timezone) };
}

function timeIn(written: string | number, now: number, timezone: string): number {
  const at = typeof written === "number" ? written : parseTime(written, now, timezone);
  if (at === undefined)
    throw refused(`"${written}" is not a time; write it as "2026-02-14 09:30" or "tomorrow 9:15am"`);
  return at;
}

function refused(reason: string): PeerError {
  return new PeerError(code.badRequest, `schedule: ${reason}`);
}
