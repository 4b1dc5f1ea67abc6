/** A date and time of day as a wall clock shows it; month and day count from 1. */
export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

/** Whether the runtime knows the IANA timezone. */
export function isTimezone(timezone: string): boolean {
  try {
    formatter(timezone);
    return true;
  } catch {
    return false;
  }
}

/** What a wall clock in the timezone shows at an instant, in epoch milliseconds. */
export function wallTimeAt(epochMs: number, timezone: string): WallTime {
  const parts = formatter(timezone).formatToParts(epochMs);
  const part = (type: string) => Number(parts.find((candidate) => candidate.type === type)?.value);
  return {
    year: part("year"),
    month: part("month"),
    day: part("day"),
    hour: part("hour"),
    minute: part("minute"),
    second: part("second"),
  };
}

/**
 * The instant at which a wall clock in the timezone shows the time, the first of two when clocks are set back, in
 * epoch milliseconds. Undefined for a time that is skipped when clocks are set forward, or that no calendar has.
 */
export function instantOf(wall: WallTime, timezone: string): number | undefined {
  const asUtc = utc(wall);
  // The offsets a day before and after bracket any change of clocks around the time.
  const offsets = [-1, 1].map((days) => {
    const nearby = asUtc + days * 86_400_000;
    return utc(wallTimeAt(nearby, timezone)) - nearby;
  });
  const candidates = offsets.map((offset) => asUtc - offset).sort((a, b) => a - b);
  return candidates.find((candidate) => utc(wallTimeAt(candidate, timezone)) === asUtc && isDate(wall));
}

function utc({ year, month, day, hour, minute, second }: WallTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function isDate({ year, month, day }: WallTime): boolean {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month >= 1 && month <= 12;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/** @throws RangeError for an unknown timezone */
function formatter(timezone: string): Intl.DateTimeFormat {
  let known = formatters.get(timezone);
  if (known === undefined) {
    known = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formatters.set(timezone, known);
  }
  return known;
}
