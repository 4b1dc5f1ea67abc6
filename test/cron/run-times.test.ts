import { describe, expect, it } from "vitest";
import { checkPeriod, checkSchedule, nextRunTime, nextRunTimes } from "../../shared/cron/run-times.ts";
import type { CronSchedule } from "../../shared/protocol/cron.ts";

const iso = (at: number | undefined) =>
  at === undefined ? undefined : new Date(at).toISOString().slice(0, 16);
const next = (expr: string, after: string, tz = "UTC") =>
  iso(nextRunTime({ kind: "cron", expr, tz }, Date.parse(after), "UTC"));
const list = (expr: string, after: string, tz: string, count: number) =>
  nextRunTimes({ kind: "cron", expr, tz }, Date.parse(after), "UTC", count).map(iso);

describe("periods", () => {
  it("are counted from their anchor", () => {
    expect(nextRunTime({ kind: "every", everyMs: 3000, anchorMs: 1000 }, 10_000, "UTC")).toBe(13_000);
    expect(nextRunTime({ kind: "every", everyMs: 3000, anchorMs: 1000 }, 9_999, "UTC")).toBe(10_000);
    expect(nextRunTime({ kind: "every", everyMs: 3000, anchorMs: 20_000 }, 10_000, "UTC")).toBe(20_000);
  });
});

it("a period has a minute or more", () => {
  expect(() => checkPeriod({ kind: "every", everyMs: 59_999 })).toThrow("at most once a minute");
  expect(() => checkPeriod({ kind: "every", everyMs: 60_000 })).not.toThrow();
  expect(() => checkPeriod({ kind: "at", atMs: 0 })).not.toThrow();
});

describe("a single time", () => {
  it("has no run once it has passed", () => {
    expect(nextRunTime({ kind: "at", atMs: 5 }, 4, "UTC")).toBe(5);
    expect(nextRunTime({ kind: "at", atMs: 5 }, 5, "UTC")).toBeUndefined();
    expect(nextRunTimes({ kind: "at", atMs: 5 }, 4, "UTC", 3)).toEqual([5]);
  });
});

describe("five fields", () => {
  it.each([
    ["*/15 * * * *", "2026-02-13T10:07:30Z", "2026-02-13T10:15"],
    ["*/15 * * * *", "2026-02-13T10:15:00Z", "2026-02-13T10:30"],
    ["30 7 * * 1-5", "2026-02-13T08:00:00Z", "2026-02-16T07:30"],
    ["30 7 * * mon-fri", "2026-02-13T08:00:00Z", "2026-02-16T07:30"],
    ["0 0 1 jan,jul *", "2026-02-13T08:00:00Z", "2026-07-01T00:00"],
    ["0 12 * * 7", "2026-02-13T08:00:00Z", "2026-02-15T12:00"],
    ["0 9 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T09:00"],
    ["0 9 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T09:00"],
    // A day that matches either field counts when both are restricted.
    ["0 0 13 * 5", "2026-02-13T00:00:00Z", "2026-02-20T00:00"],
    ["10/20 0 * * *", "2026-02-13T00:10:00Z", "2026-02-13T00:30"],
    [" 30,15  * * * * ", "2026-02-13T10:00:00Z", "2026-02-13T10:15"],
    // Both fields must match when one of the two starts with `*` or is `?`.
    ["0 12 ? * 1", "2026-02-13T00:00:00Z", "2026-02-16T12:00"],
    ["0 0 */2 * 5", "2026-02-13T00:00:00Z", "2026-02-27T00:00"],
    // The second number of Sunday, 7, is not a step of Monday.
    ["0 0 * * 1/3", "2026-02-13T00:00:00Z", "2026-02-16T00:00"],
  ])("%s after %s is %s", (expr, after, expected) => {
    expect(next(expr, after)).toBe(expected);
  });

  it("follow the clocks of their timezone", () => {
    expect(next("30 9 * * *", "2026-02-13T18:00:00Z", "America/Chicago")).toBe("2026-02-14T15:30");
    expect(next("0 0 * * *", "2026-02-13T18:00:00Z", "Asia/Kolkata")).toBe("2026-02-13T18:30");
  });

  it("run once, right after the change, at a time that is skipped in spring", () => {
    // Berlin, 29 March 2026: 02:00 becomes 03:00, at 01:00Z.
    expect(list("30 2 * * *", "2026-03-27T12:00:00Z", "Europe/Berlin", 3)).toEqual([
      ...["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],
    ]);
    expect(list("0,30 2,3 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin", 3)).toEqual([
      ...["2026-03-29T01:00", "2026-03-29T01:30", "2026-03-30T00:00"],
    ]);
    // Lord Howe, 4 October 2026: half an hour is skipped, 02:00 becomes 02:30, at 15:30Z of the day before.
    expect(next("15 2 * * *", "2026-10-03T00:00:00Z", "Australia/Lord_Howe")).toBe("2026-10-03T15:30");
    // The whole of 30 December 2011 was skipped in Samoa.
    expect(list("0 12 * * *", "2011-12-29T00:00:00Z", "Pacific/Apia", 3)).toEqual([
      ...["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
    ]);
  });

  it("run once, the first time, at a time that occurs twice in autumn", () => {
    // Berlin, 25 October 2026: 03:00 becomes 02:00, at 01:00Z.
    expect(list("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin", 2)).toEqual([
      ...["2026-10-25T00:30", "2026-10-26T01:30"],
    ]);
    // Between the two occurrences, the time has passed.
    expect(next("30 2 * * *", "2026-10-25T00:45:00Z", "Europe/Berlin")).toBe("2026-10-26T01:30");
    expect(next("30 2 * * *", "2026-10-25T01:15:00Z", "Europe/Berlin")).toBe("2026-10-26T01:30");
  });

  it("keep their distance over both changes when they run in every hour", () => {
    expect(list("15 * * * *", "2026-03-28T23:30:00Z", "Europe/Berlin", 4)).toEqual([
      ...["2026-03-29T00:15", "2026-03-29T01:15", "2026-03-29T02:15", "2026-03-29T03:15"],
    ]);
    expect(list("*/30 * * * *", "2026-10-24T23:45:00Z", "Europe/Berlin", 6)).toEqual([
      ...["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00"],
      ...["2026-10-25T01:30", "2026-10-25T02:00", "2026-10-25T02:30"],
    ]);
  });

  it("never give a time twice or go back over a clock change", () => {
    for (const tz of ["Europe/Berlin", "America/Chicago", "Australia/Lord_Howe", "UTC"])
      for (const expr of ["7 * * * *", "30 1,2,3 * * *", "0 */5 * * *"]) {
        let last = Date.parse("2026-03-01T00:00:00Z");
        for (let i = 0; i < 60; i++) {
          const at = nextRunTime({ kind: "cron", expr, tz }, last, "UTC") ?? 0;
          expect(at).toBeGreaterThan(last);
          // A moment before, the result is the same time.
          expect(nextRunTime({ kind: "cron", expr, tz }, at - 1, "UTC")).toBe(at);
          last = at;
        }
      }
  });
});

describe("an invalid schedule is refused with the reason", () => {
  const now = Date.parse("2026-02-13T00:00:00Z");
  const cron = (expr: string, tz?: string): CronSchedule => ({ kind: "cron", expr, ...(tz ? { tz } : {}) });
  it.each([
    [cron("* * *"), "5 fields"],
    [cron(""), "found 0"],
    [cron("60 * * * *"), 'minute: "60"'],
    [cron("x-5 * * * *"), 'minute: "x-5"'],
    [cron("5-x * * * *"), 'minute: "5-x"'],
    [cron("1-2-3 * * * *"), 'minute: "1-2-3"'],
    [cron("1/2/3 * * * *"), 'minute: "1/2/3"'],
    [cron("* 5-3 * * *"), 'hour: "5-3"'],
    [cron("*/0 * * * *"), 'minute: "*/0"'],
    [cron("* * 0 * *"), 'day of month: "0"'],
    [cron("0 0 30 2 *"), "no such day"],
    [cron("0 0 * * *", "Mars/Olympus"), "not a timezone"],
    [{ kind: "at", atMs: now - 1 } as const, "in the past"],
  ])("%j: %s", (schedule, reason) => {
    expect(() => checkSchedule(schedule, now, "UTC")).toThrow(reason);
  });
});
