import { type Cron, nextCronTime, parseCron } from "./cron.ts";
import { instantOf, isTimezone, type WallTime } from "./wall-clock.ts";

/** When a schedule fires: once, at an interval, or by the calendar. Times are epoch milliseconds. */
export type ScheduleExpression =
  | { kind: "at"; at: number }
  | { kind: "rate"; everyMs: number }
  | { kind: "cron"; cron: Cron; timezone: string };

const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * Parses `at(yyyy-mm-ddThh:mm:ss)`, `rate(value unit)` and `cron(fields)`.
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
 * @throws RangeError that says what is wrong
 */
export function parseScheduleExpression(text: string, timezone = "UTC"): ScheduleExpression {
  if (!isTimezone(timezone)) throw new RangeError(`unknown timezone ${timezone}`);
  const [, kind, content = ""] = /^(at|rate|cron)\((.*)\)$/.exec(text) ?? [];
  switch (kind) {
    case "at":
      return { kind, at: parseAt(content, timezone) };
    case "rate":
      return { kind, everyMs: parseRate(content) };
    case "cron":
      return { kind, cron: parseCron(content), timezone };
    default:
      throw new RangeError(`${text} is not at(…), rate(…) or cron(…)`);
  }
}

/** The first time of a new schedule: a rate begins at once. */
export function firstTime(expression: ScheduleExpression, now: number): number | undefined {
  if (expression.kind === "rate") return now;
  return expression.kind === "at" ? expression.at : nextCronTime(expression.cron, expression.timezone, now);
}

/** The time after one that has fired; undefined when there is none. */
export function timeAfter(expression: ScheduleExpression, fired: number): number | undefined {
  if (expression.kind === "at") return undefined;
  if (expression.kind === "rate") return fired + expression.everyMs;
  return nextCronTime(expression.cron, expression.timezone, fired);
}

function parseAt(content: string, timezone: string): number {
  const match = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/.exec(content);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (match ?? []).slice(1).map(Number);
  const wall: WallTime = { year, month, day, hour, minute, second };
  const instant = match && hour < 24 && minute < 60 && second < 60 ? instantOf(wall, timezone) : undefined;
  if (instant === undefined) throw new RangeError(`at(${content}) is no time in ${timezone}`);
  return instant;
}

function parseRate(content: string): number {
  const [, value, unit] = /^([1-9]\d*) (minute|hour|day)s?$/.exec(content) ?? [];
  if (value === undefined)
    throw new RangeError(`rate(${content}) is not a number and minutes, hours or days`);
  return Number(value) * unitMs[unit as keyof typeof unitMs];
}
