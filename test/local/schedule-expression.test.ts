import { describe, expect, it } from "vitest";
import { firstTime, parseScheduleExpression, timeAfter } from "../../local/scheduler/schedule-expression.ts";

const now = Date.UTC(2026, 0, 15, 12, 0, 0);

/** The first three times of an expression after `now`, in UTC to the minute. */
function times(expression: string, timezone?: string): string[] {
  const parsed = parseScheduleExpression(expression, timezone);
  const found: string[] = [];
  let time: number | undefined = firstTime(parsed, now);
  while (time !== undefined && found.length < 3) {
    found.push(new Date(time).toISOString().slice(0, 16));
    time = timeAfter(parsed, time);
  }
  return found;
}

describe("schedule expressions", () => {
  it("reads at() in UTC", () => {
    expect(times("at(2026-03-01T10:30:00)")).toEqual(["2026-03-01T10:30"]);
    expect(times("at(2028-02-29T23:59:59)", "UTC")).toEqual(["2028-02-29T23:59"]);
  });

  it("starts a rate at once and repeats it", () => {
    expect(times("rate(1 minute)")).toEqual(["2026-01-15T12:00", "2026-01-15T12:01", "2026-01-15T12:02"]);
    expect(times("rate(2 hours)")).toEqual(["2026-01-15T12:00", "2026-01-15T14:00", "2026-01-15T16:00"]);
    expect(times("rate(1 day)")).toEqual(["2026-01-15T12:00", "2026-01-16T12:00", "2026-01-17T12:00"]);
  });

  it.each([
    "at(tomorrow)",
    "at(2026-02-03)",
    "at(2026-02-30T00:00:00)",
    "at(2026-02-03T25:00:00)",
    "at(2026-02-03T24:00:00)",
    "rate(0 minutes)",
    "rate(1 fortnight)",
    "every minute",
  ])("refuses %s", (expression) => {
    expect(() => parseScheduleExpression(expression)).toThrow(RangeError);
  });

  it("says that cron() and other timezones are not there", () => {
    expect(() => parseScheduleExpression("cron(0 9 * * ? *)")).toThrow("at(…) and rate(…) only");
    expect(() => parseScheduleExpression("rate(1 minute)", "Europe/Berlin")).toThrow("no timezone but UTC");
  });
});
