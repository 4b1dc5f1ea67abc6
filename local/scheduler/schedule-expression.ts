/** When a schedule fires: once, or at an interval. Times are epoch milliseconds. */
export type ScheduleExpression = { kind: "at"; at: number } | { kind: "rate"; everyMs: number };

const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * Parses `at(yyyy-mm-ddThh:mm:ss)`, in UTC, and `rate(value unit)`. The local scheduler has neither `cron(…)` nor other
 * timezones.
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
 * @throws RangeError that says what is wrong
 */
export function parseScheduleExpression(text: string, timezone = "UTC"): ScheduleExpression {
  if (timezone !== "UTC")
    throw new RangeError(`the local scheduler has no timezone but UTC, not ${timezone}`);
  const [, kind, content = ""] = /^(at|rate)\((.*)\)$/.exec(text) ?? [];
  if (kind === "at") return { kind, at: parseAt(content) };
  if (kind === "rate") return { kind, everyMs: parseRate(content) };
  throw new RangeError(`the local scheduler has at(…) and rate(…) only, not ${text}`);
}

/** The first time of a new schedule: a rate begins at once. */
export function firstTime(expression: ScheduleExpression, now: number): number {
  return expression.kind === "rate" ? now : expression.at;
}

/** The time after one that has fired; undefined when there is none. */
export function timeAfter(expression: ScheduleExpression, fired: number): number | undefined {
  return expression.kind === "rate" ? fired + expression.everyMs : undefined;
}

function parseAt(content: string): number {
  const at = Date.parse(`${content}Z`);
  // Date.parse takes other forms too, and February 30.
  const isExact = !Number.isNaN(at) && new Date(at).toISOString() === `${content}.000Z`;
  if (!isExact) throw new RangeError(`at(${content}) is not a time of the form yyyy-mm-ddThh:mm:ss`);
  return at;
}

function parseRate(content: string): number {
  const [, value, unit] = /^([1-9]\d*) (minute|hour|day)s?$/.exec(content) ?? [];
  if (value === undefined)
    throw new RangeError(`rate(${content}) is not a number and minutes, hours or days`);
  return Number(value) * unitMs[unit as keyof typeof unitMs];
}
