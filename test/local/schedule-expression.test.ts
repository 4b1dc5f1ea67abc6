import { describe, expect, it } from "vitest";
import { firstTime, parseScheduleExpression, timeAfter } from "../../local/scheduler/schedule-expression.ts";

// A Thursday.
const now = Date.UTC(2026, 0, 15, 12, 0, 0);

/** The first times of an expression after `now`, in UTC to the minute. */
function times(expression: string, timezone?: string, count = 3): string[] {
  const parsed = parseScheduleExpression(expression, timezone);
  const found: string[] = [];
  for (let time = firstTime(parsed, now); time !== undefined && found.length < count; ) {
    found.push(new Date(time).toISOString().slice(0, 16));
    time = timeAfter(parsed, time);
  }
  return found;
}

describe("schedule expressions", () => {
  it("reads at() in its timezone", () => {
    expect(times("at(2026-03-01T10:30:00)")).toEqual(["2026-03-01T10:30"]);
    expect(times("at(2026-07-01T10:30:00)", "Europe/Berlin")).toEqual(["2026-07-01T08:30"]);
    expect(times("at(2026-07-01T10:30:00)", "Asia/Kolkata")).toEqual(["2026-07-01T05:00"]);
  });

  it("starts a rate at once and repeats it", () => {
    expect(times("rate(1 minute)")).toEqual(["2026-01-15T12:00", "2026-01-15T12:01", "2026-01-15T12:02"]);
    expect(times("rate(2 hours)")).toEqual(["2026-01-15T12:00", "2026-01-15T14:00", "2026-01-15T16:00"]);
  });

  it("finds the times of a cron expression", () => {
    const cases: Record<string, string[]> = {
      "cron(0/20 13 * * ? *)": ["2026-01-15T13:00", "2026-01-15T13:20", "2026-01-15T13:40"],
      "cron(0 10 ? * MON-FRI *)": ["2026-01-16T10:00", "2026-01-19T10:00", "2026-01-20T10:00"],
      "cron(0 10 ? * 1,7 *)": ["2026-01-17T10:00", "2026-01-18T10:00", "2026-01-24T10:00"],
      "cron(0 0 L * ? *)": ["2026-01-31T00:00", "2026-02-28T00:00", "2026-03-31T00:00"],
      "cron(0 0 ? * 6L *)": ["2026-01-30T00:00", "2026-02-27T00:00", "2026-03-27T00:00"],
      "cron(0 0 ? * TUE#3 *)": ["2026-01-20T00:00", "2026-02-17T00:00", "2026-03-17T00:00"],
      "cron(0 0 1W * ? *)": ["2026-02-02T00:00", "2026-03-02T00:00", "2026-04-01T00:00"],
      "cron(0 0 29 FEB ? *)": ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"],
      "cron(0 0 1 1 ? 2027-2028)": ["2027-01-01T00:00", "2028-01-01T00:00"],
      "cron(0 0 31 2 ? *)": [],
    };
    for (const [expression, expected] of Object.entries(cases)) expect(times(expression)).toEqual(expected);
  });

  it("follows the clocks of the timezone: a skipped time is left out, a repeated one fires once", () => {
    const days = (date: string) =>
      times("cron(30 2 * * ? *)", "Europe/Berlin", 300).filter((day) => day.startsWith(date));
    expect(days("2026-03-28")).toEqual(["2026-03-28T01:30"]);
    expect(days("2026-03-29")).toEqual([]);
    expect(days("2026-03-30")).toEqual(["2026-03-30T00:30"]);
    expect(days("2026-10-25")).toEqual(["2026-10-25T00:30"]);
    expect(days("2026-10-26")).toEqual(["2026-10-26T01:30"]);
  });

  it("refuses what is no expression", () => {
    const wrong = [
      "at(tomorrow)",
      "at(2026-02-30T00:00:00)",
      "at(2026-02-03T25:00:00)",
      "rate(0 minutes)",
      "rate(1 fortnight)",
      "cron(0 0 * * * *)",
      "cron(0 0 ? * ? *)",
      "cron(61 0 * * ? *)",
      "cron(0 0 * * ?)",
      "cron(5-1 0 * * ? *)",
      "cron(0/0 0 * * ? *)",
      "cron(0 0 ? * NOD *)",
      "every minute",
    ];
    for (const expression of wrong)
      expect(() => parseScheduleExpression(expression), expression).toThrow(RangeError);
    expect(() => parseScheduleExpression("rate(1 minute)", "Mars/Olympus")).toThrow("unknown timezone");
  });
});
