import { describe, expect, it } from "vitest";
import { addDays, localTime } from "../../shared/runtime/zoned-time.ts";
import { dailyMemoryPath } from "../../shared/workspace/workspace-paths.ts";

describe("the clock of a timezone", () => {
  it("shows date, time and weekday there", () => {
    const now = Date.parse("2026-01-01T00:30:00Z");
    expect(localTime(now, "UTC")).toEqual({ date: "2026-01-01", time: "00:30", weekday: "Thursday" });
    expect(localTime(now, "America/Bogota")).toEqual({
      date: "2025-12-31",
      time: "19:30",
      weekday: "Wednesday",
    });
    expect(localTime(now, "Pacific/Kiritimati")).toMatchObject({ date: "2026-01-01", time: "14:30" });
  });

  it("shows midnight as 00:00", () => {
    expect(localTime(Date.parse("2026-01-01T23:00:00Z"), "Europe/Berlin")).toMatchObject({
      date: "2026-01-02",
      time: "00:00",
    });
  });

  it.each([
    ["Europe/Berlin", "2026-10-25T00:59:59Z", "02:59", "2026-10-25T01:00:00Z", "02:00"],
    ["Antarctica/Casey", "2020-10-03T16:00:59Z", "00:00", "2020-10-03T16:01:00Z", "03:01"],
    ["Africa/Monrovia", "1972-01-07T00:44:29Z", "23:59", "1972-01-07T00:44:30Z", "00:44"],
  ])(
    "shows in %s the last second before and the first after a change of clocks",
    (zone, last, before, first, after) => {
      const shown = () => [last, first].map((instant) => localTime(Date.parse(instant), zone).time);
      expect(shown()).toEqual([before, after]);
      expect(shown()).toEqual([before, after]);
    },
  );

  it("shows a time that no calendar has as the nearest one that it has", () => {
    const dates = [-1e308, Number.NEGATIVE_INFINITY, 8.64e15, 1e308].map(
      (time) => localTime(time, "Asia/Tokyo").date,
    );
    expect(dates).toEqual(["1970-01-02", "1970-01-02", "9999-12-30", "9999-12-30"]);
  });

  it("reads an unknown timezone as UTC", () => {
    expect(localTime(Date.parse("2026-01-01T00:30:00Z"), "Mars/Olympus").time).toBe("00:30");
  });

  it("knows the day before, over months, years and leap days", () => {
    expect(["2026-03-01", "2024-03-01", "2026-01-01", "2026-03-30"].map((day) => addDays(day, -1))).toEqual([
      "2026-02-28",
      "2024-02-29",
      "2025-12-31",
      "2026-03-29",
    ]);
  });

  it("names the daily memory file", () => expect(dailyMemoryPath("2026-03-01")).toBe("memory/2026-03-01.md"));
});
