import { describe, expect, it } from "vitest";
import { durationMs } from "../../shared/configuration/duration.ts";
import { mergeConfiguration } from "../../shared/configuration/store.ts";
import { type ActiveHours, beatSettings, isActive, nextBeat } from "../../shared/heartbeat/beat-times.ts";
import { localTime } from "../../shared/runtime/zoned-time.ts";

const minute = 60_000;
const hours = (start: string, end: string, timezone = "UTC"): ActiveHours => ({ start, end, timezone });
const at = (time: string) => Date.parse(`2026-05-05T${time}:00Z`);

describe("a duration", () => {
  it.each([
    ["30m", 30 * minute],
    ["2h30m", 150 * minute],
    ["1d12h", 36 * 60 * minute],
    ["90s", 90_000],
    ["0", 0],
    ["0m", 0],
    ["m30", 0],
    ["30m2h", 0],
    ["", 0],
  ])("of %j has %d ms", (text, ms) => expect(durationMs(text)).toBe(ms));
});

describe("active hours", () => {
  it("begin with their start and end before their end", () => {
    const day = hours("08:00", "23:00");
    const active = ["07:59", "08:00", "22:59", "23:00"].map((time) => isActive(at(time), day));
    expect(active).toEqual([false, true, true, false]);
  });

  it("go over midnight when they end before they start", () => {
    const night = hours("22:00", "06:00");
    const active = ["21:59", "22:00", "00:00", "05:59", "06:00"].map((time) => isActive(at(time), night));
    expect(active).toEqual([false, true, true, true, false]);
  });

  it("are the whole day when start and end are the same, and until midnight when they end at 24:00", () => {
    expect(isActive(at("03:00"), hours("08:00", "08:00"))).toBe(true);
    expect(isActive(at("23:59"), hours("08:00", "24:00"))).toBe(true);
    expect(isActive(at("00:00"), hours("08:00", "24:00"))).toBe(false);
  });
});

describe("the settings of an agent's heartbeat", () => {
  const configuration = mergeConfiguration({
    userTimezone: "Europe/Berlin",
    agents: {
      list: [
        { id: "work", heartbeat: { every: "2h30m", target: "slack", activeHours: { start: "09:30" } } },
        { id: "far", heartbeat: { activeHours: { timezone: "Asia/Tokyo" }, every: "10s" } },
      ],
      defaultHeartbeat: { activeHours: { timezone: "user" } },
    },
  });

  it("are the default ones with its own over them, field by field", () => {
    expect(beatSettings(configuration, "work")).toMatchObject({
      everyMs: 150 * minute,
      target: "slack",
      hours: { start: "09:30", end: "23:00", timezone: "Europe/Berlin" },
    });
    expect(beatSettings(configuration, "main")).toMatchObject({ everyMs: 30 * minute, target: "last" });
  });

  it("hold in the user's timezone unless they name another, and at most once a minute", () => {
    expect(beatSettings(configuration, "far")).toMatchObject({
      everyMs: minute,
      hours: { timezone: "Asia/Tokyo" },
    });
  });
});

/** The local times of the beats from one to another instant. */
function beatsOf(from: string, to: string, everyMs: number, active: ActiveHours): string[] {
  const beats: string[] = [];
  let beat = Date.parse(from);
  for (;;) {
    const next = nextBeat(beat, beat, { everyMs, hours: active });
    if (next === undefined || next > Date.parse(to)) return beats;
    beat = next;
    const { date, time } = localTime(beat, active.timezone);
    beats.push(`${date} ${time}`);
  }
}

describe("the next beat", () => {
  const whole = hours("00:00", "24:00");

  it("comes whole intervals after the last one, however late that was handled", () => {
    const half = { everyMs: 30 * minute, hours: whole };
    expect(nextBeat(at("10:00"), at("10:01"), half)).toBe(at("10:30"));
    expect(nextBeat(at("10:00"), at("10:30"), half)).toBe(at("11:00"));
    expect(nextBeat(at("10:00"), at("13:07"), half)).toBe(at("13:30"));
    // A clock that is behind the one that fired.
    expect(nextBeat(at("10:00"), at("09:59"), half)).toBe(at("10:30"));
  });

  it("does not come when the heartbeat is switched off", () => {
    expect(nextBeat(0, 0, { everyMs: 0, hours: whole })).toBeUndefined();
  });

  it("waits for the active hours, so that nothing runs outside of them", () => {
    const day = { everyMs: 60 * minute, hours: hours("08:30", "10:00") };
    expect(nextBeat(at("09:30"), at("09:30"), day)).toBe(Date.parse("2026-05-06T08:30:00Z"));
    expect(nextBeat(at("02:00"), at("02:00"), day)).toBe(at("08:30"));
    expect(nextBeat(at("09:00"), at("09:00"), { ...day, hours: hours("22:00", "02:00") })).toBe(at("22:00"));
  });

  it("comes in every span of active hours, though the interval is longer than they are", () => {
    const rare = beatsOf(
      "2026-05-05T00:00:00Z",
      "2026-05-08T00:00:00Z",
      300 * minute,
      hours("08:00", "09:00"),
    );
    expect(rare).toEqual(["2026-05-05 08:00", "2026-05-06 08:00", "2026-05-07 08:00"]);
  });

  it("keeps the local hours on the days on which clocks change", () => {
    const berlin = hours("08:00", "23:00", "Europe/Berlin");
    const days = { forward: "2026-03-29", back: "2026-10-25" };
    for (const day of Object.values(days)) {
      const beats = beatsOf(`${day}T00:00:00Z`, `${day}T22:30:00Z`, 30 * minute, berlin);
      expect(beats).toHaveLength(30);
      expect([beats[0], beats.at(-1)]).toEqual([`${day} 08:00`, `${day} 22:30`]);
    }
  });

  it("comes an hour less often at night when clocks are set forward, and more often when set back", () => {
    const night = hours("22:00", "06:00", "Europe/Berlin");
    const count = (day: string, next: string) =>
      beatsOf(`${day}T12:00:00Z`, `${next}T12:00:00Z`, 60 * minute, night).length;
    expect(count("2026-03-27", "2026-03-28")).toBe(8);
    expect(count("2026-03-28", "2026-03-29")).toBe(7);
    expect(count("2026-10-24", "2026-10-25")).toBe(9);
  });

  it("passes over a day whose active hours are skipped by the clock, and begins late in hours that it cuts", () => {
    const skipped = hours("02:00", "03:00", "Europe/Berlin");
    expect(beatsOf("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", 24 * 60 * minute, skipped)).toEqual([
      "2026-03-30 02:00",
    ]);
    const cut = hours("02:30", "04:00", "Europe/Berlin");
    expect(beatsOf("2026-03-28T12:00:00Z", "2026-03-29T02:00:00Z", 60 * minute, cut)).toEqual([
      "2026-03-29 03:00",
    ]);
  });
});
