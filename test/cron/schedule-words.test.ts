import { describe, expect, it } from "vitest";
import { parseSchedule, readSchedule } from "../../shared/cron/schedule-words.ts";

/** 12:00 of a Friday in Chicago. */
const now = Date.parse("2026-02-13T18:00:00Z");
const chicago = "America/Chicago";
const at = (time: string) => ({ kind: "at", atMs: Date.parse(time) });
const cron = (expr: string) => ({ kind: "cron", expr, tz: chicago });
const every = (everyMs: number) => ({ kind: "every", everyMs });

describe("words", () => {
  it.each([
    ["2026-02-14 09:30", at("2026-02-14T15:30Z")],
    ["2026-02-14T09:30:00", at("2026-02-14T15:30Z")],
    ["2026-02-14T09:30:00Z", at("2026-02-14T09:30Z")],
    ["2026-02-14 09:30 +01:00", at("2026-02-14T08:30Z")],
    ["tomorrow 9:15am", at("2026-02-14T15:15Z")],
    ["Tomorrow at 9", at("2026-02-14T15:00Z")],
    ["today at 5 pm", at("2026-02-13T23:00Z")],
    ["monday at noon", at("2026-02-16T18:00Z")],
    // Friday 11:00 has been.
    ["friday 11:00", at("2026-02-20T17:00Z")],
    ["on friday at 13:00", at("2026-02-13T19:00Z")],
    ["7:30", at("2026-02-14T13:30Z")],
    ["at 13", at("2026-02-13T19:00Z")],
    ["14 feb at 9:30", at("2026-02-14T15:30Z")],
    ["January 2nd, 2027 at 9am", at("2027-01-02T15:00Z")],
    ["1 feb 8:00", at("2027-02-01T14:00Z")],
    ["in 20 minutes", at("2026-02-13T18:20Z")],
    ["in 2h30m", at("2026-02-13T20:30Z")],
    ["in an hour and 5 minutes", at("2026-02-13T19:05Z")],
    ["in half an hour", at("2026-02-13T18:30Z")],
    ["in 2 days", at("2026-02-15T18:00Z")],
    ["every 30 minutes", every(1_800_000)],
    ["every 2h30m", every(9_000_000)],
    ["every hour", every(3_600_000)],
    ["hourly", every(3_600_000)],
    [
      "every 2 hours from 2026-02-14 09:30",
      { ...every(7_200_000), anchorMs: Date.parse("2026-02-14T15:30Z") },
    ],
    ["every weekday at 7:30", cron("30 7 * * 1-5")],
    ["weekdays 7:30", cron("30 7 * * 1-5")],
    ["every day at 9am and 6pm", cron("0 9,18 * * *")],
    ["daily at 00:05", cron("5 0 * * *")],
    ["every weekend at noon", cron("0 12 * * 0,6")],
    ["mondays and fridays at 9:15am", cron("15 9 * * 1,5")],
    ["every mon, wed and sun at 18", cron("0 18 * * 0,1,3")],
    ["every month on the 1st at 8:00", cron("0 8 1 * *")],
    ["the 15th of every month at 8:00", cron("0 8 15 * *")],
    ["30 7 * * 1-5", cron("30 7 * * 1-5")],
    ["*/15 * * * *", cron("*/15 * * * *")],
    ["0 9 1 1 mon", cron("0 9 1 1 mon")],
  ])("%s", (text, expected) => {
    expect(parseSchedule(text, now, chicago)).toEqual(expected);
  });

  it.each([
    ["* * *", "expected 5 fields"],
    ["61 * * * *", 'minute: "61"'],
    ["whenever you like", "is not understood"],
    ["tomorrow", "is not understood"],
    ["every blue moon at 7", "is not understood"],
    ["every day at 25:00", "is not understood"],
    ["2026-02-30 09:30", "is not understood"],
    ["every day at 7:30 and 8:15", "is not understood"],
    ["in a while", "is not understood"],
    ["", "is not understood"],
  ])("%j is refused: %s", (text, reason) => {
    expect(() => parseSchedule(text, now, chicago)).toThrow(reason);
  });
});

describe("a schedule that a model writes as an object", () => {
  it.each([
    [{ kind: "at", at: "2026-02-14 09:30" }, at("2026-02-14T15:30Z")],
    [{ at: "2026-02-14 09:30", tz: "Europe/Berlin" }, at("2026-02-14T08:30Z")],
    [
      { kind: "at", atMs: now + 5 },
      { kind: "at", atMs: now + 5 },
    ],
    [{ in: "20 minutes" }, at("2026-02-13T18:20Z")],
    [{ in: "in 20 minutes" }, at("2026-02-13T18:20Z")],
    [
      { kind: "at", inMs: 1500 },
      { kind: "at", atMs: now + 1500 },
    ],
    [{ inSeconds: 90 }, { kind: "at", atMs: now + 90_000 }],
    [{ kind: "every", everyMinutes: 15 }, every(900_000)],
    [
      { everyHours: 2, anchor: "2026-02-14 09:30" },
      { ...every(7_200_000), anchorMs: Date.parse("2026-02-14T15:30Z") },
    ],
    [{ everyDays: 1 }, every(86_400_000)],
    [
      { kind: "every", everyMs: 3000, anchorMs: 1000 },
      { kind: "every", everyMs: 3000, anchorMs: 1000 },
    ],
    [{ every: "weekday at 7:30" }, cron("30 7 * * 1-5")],
    [{ kind: "cron", expr: "0 9 * * *" }, cron("0 9 * * *")],
    [
      { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
      { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
    ],
    ["tomorrow 9:15am", at("2026-02-14T15:15Z")],
  ])("%j", (written, expected) => {
    expect(readSchedule(written, now, chicago)).toEqual(expected);
  });

  it("is refused when it has no time", () => {
    expect(() => readSchedule({ kind: "at" }, now, chicago)).toThrow("write it as");
    expect(() => readSchedule({ at: "soon" }, now, chicago)).toThrow('"soon" is not a time');
    expect(() => readSchedule({ inMs: "5" }, now, chicago)).toThrow("inMs");
    expect(() => readSchedule(undefined, now, chicago)).toThrow("schedule: ");
  });
});
