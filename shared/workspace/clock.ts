import { wallTimeAt } from "../runtime/zoned-time.ts";

/** A moment as a clock on the wall of a timezone shows it. */
export interface LocalTime {
  /** `YYYY-MM-DD`. */
  date: string;
  /** `HH:MM`, 00 to 23 hours. */
  time: string;
  /** In English: `Monday`. */
  weekday: string;
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;

/** `now` in epoch milliseconds, `timezone` an IANA name; one that is unknown is read as UTC, so that a run goes on. */
export function localTime(now: number, timezone: string): LocalTime {
  const shown = new Date(wallTimeAt(now, timezone));
  const text = shown.toISOString();
  return { date: text.slice(0, 10), time: text.slice(11, 16), weekday: weekdays[shown.getUTCDay()] ?? "" };
}

/** The path of the daily memory file of a date, `memory/{YYYY-MM-DD}.md` (docs/storage-layout.md). */
export function dailyMemoryPath(date: string): string {
  return `memory/${date}.md`;
}
