import { describe, expect, it } from "vitest";
import {
  dailyBoundary,
  isResetDue,
  nextBoundary,
  nextResetTime,
} from "../../shared/session/reset-schedule.ts";

const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());
const at = (text: string) => Date.parse(text);
const minute = 60_000;
const hour = 60 * minute;

describe("the daily boundary", () => {
  it("is the most recent time with that hour, to the millisecond", () => {
    expect(iso(dailyBoundary(at("2026-03-02T04:00:00.000Z"), 4, "UTC"))).toBe("2026-03-02T04:00:00.000Z");
    expect(iso(dailyBoundary(at("2026-03-02T03:59:59.999Z"), 4, "UTC"))).toBe("2026-03-01T04:00:00.000Z");
    expect(iso(dailyBoundary(at("2026-03-02T23:59:59.999Z"), 4, "UTC"))).toBe("2026-03-02T04:00:00.000Z");
  });

  it("is in the user's timezone", () => {
    expect(iso(dailyBoundary(at("2026-01-02T12:00:00Z"), 4, "America/New_York"))).toBe(
      "2026-01-02T09:00:00.000Z",
    );
    expect(iso(dailyBoundary(at("2026-01-02T01:00:00Z"), 4, "Asia/Kolkata"))).toBe(
      "2026-01-01T22:30:00.000Z",
    );
    expect(iso(dailyBoundary(at("2026-01-02T01:00:00Z"), 23, "Pacific/Auckland"))).toBe(
      "2026-01-01T10:00:00.000Z",
    );
  });
});

/** Every boundary that `nextBoundary` finds after a time. */
function boundariesFrom(start: string, count: number, atHour: number, timezone: string): string[] {
  const found: number[] = [];
  for (let now = at(start); found.length < count; now = found.at(-1) as number) {
    found.push(nextBoundary(now, atHour, timezone));
  }
  return found.map((time) => new Date(time).toISOString().slice(0, 16));
}

describe("on the days when clocks change", () => {
  it.each([
    // Clocks go from 02:00 to 03:00 on 8 March 2026.
    [
      "America/New_York",
      4,
      "2026-03-07T00:00Z",
      ["2026-03-07T09:00", "2026-03-08T08:00", "2026-03-09T08:00"],
    ],
    // Clocks go from 02:00 to 03:00 on 29 March 2026, and from 03:00 back to 02:00 on 25 October 2026.
    ["Europe/Berlin", 4, "2026-03-28T00:00Z", ["2026-03-28T03:00", "2026-03-29T02:00", "2026-03-30T02:00"]],
    ["Europe/Berlin", 4, "2026-10-24T00:00Z", ["2026-10-24T02:00", "2026-10-25T03:00", "2026-10-26T03:00"]],
  ])("in %s the hour %i stays that hour (from %s)", (timezone, atHour, start, expected) => {
    expect(boundariesFrom(start, 3, atHour, timezone)).toEqual(expected);
  });

  it.each([
    ["America/New_York", "2026-03-07T00:00Z", ["2026-03-07T07:00", "2026-03-08T07:00", "2026-03-09T06:00"]],
    ["Europe/Berlin", "2026-03-28T00:00Z", ["2026-03-28T01:00", "2026-03-29T01:00", "2026-03-30T00:00"]],
  ])("in %s a skipped hour is the moment of the change", (timezone, start, expected) => {
    expect(boundariesFrom(start, 3, 2, timezone)).toEqual(expected);
  });

  it.each([
    ["Europe/Berlin", 2, "2026-10-23T12:00Z", ["2026-10-24T00:00", "2026-10-25T00:00", "2026-10-26T01:00"]],
  ])(
    "in %s an hour that occurs twice counts once, the first time (%i)",
    (timezone, atHour, start, expected) => {
      expect(boundariesFrom(start, 3, atHour, timezone)).toEqual(expected);
    },
  );

  it("is not before a midnight that does not exist", () => {
    // In Cairo clocks go from 00:00 to 01:00 on 24 April 2026.
    expect(boundariesFrom("2026-04-23T00:00Z", 2, 0, "Africa/Cairo")).toEqual([
      "2026-04-23T22:00",
      "2026-04-24T21:00",
    ]);
  });

  it.each([
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Havana",
    "UTC",
  ])(
    "in %s each moment is between its boundary and the next, which is the boundary of all later moments",
    (timezone) => {
      const wrong: object[] = [];
      for (let now = at("2026-01-01T00:30:00Z"); now < at("2027-01-01T00:00:00Z"); now += 31 * hour) {
        for (const atHour of [0, 1, 2, 3, 4, 23]) {
          const [last, next] = [dailyBoundary(now, atHour, timezone), nextBoundary(now, atHour, timezone)];
          const isBetween = last <= now && now < next;
          const isAboutADay = next - last >= 22 * hour && next - last <= 26 * hour;
          const ofNext = dailyBoundary(next, atHour, timezone);
          const beforeNext = dailyBoundary(next - 1, atHour, timezone);
          if (isBetween && isAboutADay && ofNext === next && beforeNext === last) continue;
          wrong.push({ now: iso(now), atHour, last: iso(last), next: iso(next), ofNext, beforeNext });
        }
      }
      expect(wrong).toEqual([]);
    },
  );
});

describe("session-routing.md, Auto-Reset Policies", () => {
  const now = at("2026-03-02T12:00:00Z");
  const said = (updatedAt: number) => ({ first: 1, head: 4, updatedAt });
  const silent = (updatedAt: number) => ({ first: 1, head: 0, updatedAt });

  it("mode manual: no automatic reset", () => {
    expect(isResetDue(said(0), { mode: "manual" }, now, "UTC")).toBe(false);
    expect(nextResetTime(said(now), { mode: "manual" }, now, "UTC")).toBeUndefined();
  });

  it("mode daily: due when the last activity was before the boundary, by default at 4", () => {
    const policy = { mode: "daily" } as const;
    expect(isResetDue(said(at("2026-03-02T03:59:59.999Z")), policy, now, "UTC")).toBe(true);
    expect(isResetDue(said(at("2026-03-02T04:00:00.000Z")), policy, now, "UTC")).toBe(false);
    expect(iso(nextResetTime(said(now), policy, now, "UTC"))).toBe("2026-03-03T04:00:00.000Z");
  });

  it("mode daily, atHour 0 and 23", () => {
    expect(isResetDue(said(at("2026-03-01T23:59:00Z")), { mode: "daily", atHour: 0 }, now, "UTC")).toBe(true);
    expect(isResetDue(said(at("2026-03-01T23:30:00Z")), { mode: "daily", atHour: 23 }, now, "UTC")).toBe(
      false,
    );
  });

  it("mode idle with 0 minutes: due as soon as time has passed", () => {
    const policy = { mode: "idle", idleMinutes: 0 } as const;
    expect(isResetDue(said(now), policy, now, "UTC")).toBe(false);
    expect(isResetDue(said(now - 1), policy, now, "UTC")).toBe(true);
    expect(nextResetTime(said(now), policy, now, "UTC")).toBe(now + 1);
  });

  it("mode idle: due after more idle minutes than configured, by default 60", () => {
    const policy = { mode: "idle" } as const;
    expect(isResetDue(said(now - 60 * minute), policy, now, "UTC")).toBe(false);
    expect(isResetDue(said(now - 60 * minute - 1), policy, now, "UTC")).toBe(true);
    expect(isResetDue(said(now - 6 * minute), { mode: "idle", idleMinutes: 5 }, now, "UTC")).toBe(true);
  });

  it("mode idle: the next reset time is the first moment at which it is due", () => {
    const policy = { mode: "idle", idleMinutes: 5 } as const;
    const due = nextResetTime(said(now), policy, now, "UTC") as number;
    expect(isResetDue(said(now), policy, due, "UTC")).toBe(true);
    expect(isResetDue(said(now), policy, due - 1, "UTC")).toBe(false);
  });

  it("has a later reset time when it is due but cannot be reset now", () => {
    const policy = { mode: "idle", idleMinutes: 5 } as const;
    expect(nextResetTime(said(now - hour), policy, now, "UTC")).toBe(now + 5 * minute + 1);
  });

  it("never resets a session without messages since its last reset", () => {
    for (const mode of ["daily", "idle"] as const) {
      expect(isResetDue(silent(0), { mode }, now, "UTC")).toBe(false);
      expect(nextResetTime(silent(0), { mode }, now, "UTC")).toBeUndefined();
    }
  });
});
