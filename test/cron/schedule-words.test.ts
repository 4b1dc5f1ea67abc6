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
    // Friday 11:00 has passed.
    ["friday 11:00", at("2026-02-20T17:00Z")],
    ["on friday at 13:00", at("2026-02-13T19:00Z")],
    ["7:30", at("2026-02-14T13:30Z")],
    ["at 13", at("2026-02-13T19:00Z")],
    ["14 feb at 9:30", at("2026-02-14T15:30Z")],
    ["January 2nd, 2027 at 9am", at("2027-01-02T15:00Z")],
    ["1 feb 8:00", at("2027-02-01T14:00Z")],
    ["in 20 minutes", at("2026-02-13T18:20Z")],
    ["in an hour and 5 minutes", at("2026-02-13T19:05Z")],
    ["in half an hour", at("2026-02-13T18:30Z")],
    ["7 pm", at("2026-02-14T01:00Z")],
    ["12:00", at("2026-02-14T18:00Z")],
    ["tomorrow at midnight", at("2026-02-14T06:00Z")],
    ["monday 9", at("2026-02-16T15:00Z")],
    ["2026-02-14T09:30:15.123", at("2026-02-14T15:30Z")],
    ["2026-02-14T09:30:00.123Z", at("2026-02-14T09:30:00.123Z")],
    ["2026-02-14T09:30+0100", at("2026-02-14T08:30Z")],
    ["on 14 feb at 9:30", at("2026-02-14T15:30Z")],
    ["on feb 14 9:30", at("2026-02-14T15:30Z")],
    ["14th of february, 2028 9:30", at("2028-02-14T15:30Z")],
    ["14 feb 2028 9:30", at("2028-02-14T15:30Z")],
    ["february 14 2028, at 9:30", at("2028-02-14T15:30Z")],
    ["every 30 minutes", every(1_800_000)],
    ["every hour and 5 minutes", every(3_900_000)],
    ["every hour and half an hour", every(5_400_000)],
    ["every day at 9am ,6pm", cron("0 9,18 * * *")],
    [
      "every 2 hours starting 2026-02-14 09:30",
      { ...every(7_200_000), anchorMs: Date.parse("2026-02-14T15:30Z") },
    ],
    ["every 2h30m", every(9_000_000)],
    ["hourly", every(3_600_000)],
    ["every weekday at 7:30", cron("30 7 * * 1-5")],
    ["weekdays 7:30", cron("30 7 * * 1-5")],
    ["every day at 9am and 6pm", cron("0 9,18 * * *")],
    ["every day at 6pm, 9am", cron("0 9,18 * * *")],
    ["every day at 18,9", cron("0 9,18 * * *")],
    ["every day at 12am", cron("0 0 * * *")],
    ["every day at 1pm", cron("0 13 * * *")],
    ["every day at 23:59", cron("59 23 * * *")],
    ["every working day at 7", cron("0 7 * * 1-5")],
    ["each workday at 7", cron("0 7 * * 1-5")],
    ["wednesdays at 9", cron("0 9 * * 3")],
    ["mondays at 9", cron("0 9 * * 1")],
    ["every week on mon,wed at 9", cron("0 9 * * 1,3")],
    ["every 31st at 8:00", cron("0 8 31 * *")],
    ["0 9 * * mon-wed", cron("0 9 * * mon-wed")],
    ["every weekend at noon", cron("0 12 * * 0,6")],
    ["mondays and fridays at 9:15am", cron("15 9 * * 1,5")],
    ["every mon, wed and sun at 18", cron("0 18 * * 0,1,3")],
    ["every month on the 1st at 8:00", cron("0 8 1 * *")],
    ["30 7 * * 1-5", cron("30 7 * * 1-5")],
    ["0 9 1 1 mon", cron("0 9 1 1 mon")],
  ])("%s", (text, expected) => {
    expect(parseSchedule(text, now, chicago)).toStrictEqual(expected);
  });

  it.each([
    ...["7", "7:60", "tomorrow at seven", "tomorrow at 13pm", "tomorrow at 0am", "every tu at 9"],
    ...["30 feb at 9:00", "2026-02-14 25:00", "every day at 9 and 25", "tomorrow at 9:30x"],
    ...["every weekdayish at 7", "every weekendish at 7", "every dayish at 7", "every longweekend at 7"],
    ...["every 32nd at 8:00", "every 0th at 8:00", "every monday and blue at 7"],
    ...["13", "not every hour", "every day at 9:00 sharp", "every mo at 9"],
    ...["every second weekday at 7", "every other 15th at 8:00", "every 15th of may at 8:00"],
    ...["every 2 hours from whenever", "in 20 minutes or so", "every someday at 7"],
  ])("%s is refused", (text) => {
    expect(() => parseSchedule(text, now, chicago)).toThrow("is not understood");
  });

  it.each([
    ["* * *", "expected 5 fields"],
    ["whenever you like", "is not understood"],
    ["every day at 25:00", "is not understood"],
    ["2026-02-30 09:30", "is not understood"],
    ["every day at 7:30 and 8:15", "is not understood"],
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
    [
      { kind: "at", inMs: 1500 },
      { kind: "at", atMs: now + 1500 },
    ],
    [{ at: " Tomorrow  9:15am " }, at("2026-02-14T15:15Z")],
    [{ inMinutes: 2 }, { kind: "at", atMs: now + 120_000 }],
    [{ at: now + 5 }, { kind: "at", atMs: now + 5 }],
    [{ every: "2 hours" }, every(7_200_000)],
    [{ every: "hour", everyMinutes: 5 }, every(300_000)],
    [
      { every: "every 2 hours", anchor: "2026-02-14 09:30" },
      { ...every(7_200_000), anchorMs: Date.parse("2026-02-14T15:30Z") },
    ],
    [
      { everyHours: 2, anchor: 1000 },
      { ...every(7_200_000), anchorMs: 1000 },
    ],
    [{ cron: "0 9 * * *" }, cron("0 9 * * *")],
    [{ kind: "cron", expr: "0 9 * * *" }, cron("0 9 * * *")],
    ["tomorrow 9:15am", at("2026-02-14T15:15Z")],
  ])("%j", (written, expected) => {
    expect(readSchedule(written, now, chicago)).toStrictEqual(expected);
  });

  it("is refused without a valid time", () => {
    expect(() => readSchedule({ kind: "at" }, now, chicago)).toThrow("write it as");
    expect(() => readSchedule({ at: "soon" }, now, chicago)).toThrow('"soon" is not a time');
    expect(() => readSchedule({ inMs: "5" }, now, chicago)).toThrow("inMs");
    expect(() => readSchedule(undefined, now, chicago)).toThrow("schedule: ");
  });
});
