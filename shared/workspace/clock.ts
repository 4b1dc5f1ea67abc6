const fields = {
  weekday: "long",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
} as const;

/** A moment as a clock on the wall of a timezone shows it. */
export interface LocalTime {
  /** `YYYY-MM-DD`. */
  date: string;
  /** `HH:MM`, 00 to 23 hours. */
  time: string;
  /** In English: `Monday`. */
  weekday: string;
}

/** `now` in epoch milliseconds, `timezone` an IANA name; one that is unknown is read as UTC, so that a run goes on. */
export function localTime(now: number, timezone = "UTC"): LocalTime {
  const parts: Record<string, string> = {};
  for (const { type, value } of formatIn(timezone).formatToParts(now)) parts[type] = value;
  const { year = "", month, day, hour, minute, weekday = "" } = parts;
  return { date: `${year.padStart(4, "0")}-${month}-${day}`, time: `${hour}:${minute}`, weekday };
}

/** The path of the daily memory file of a date, `memory/{YYYY-MM-DD}.md` (storage layout). */
export function dailyMemoryPath(date: string): string {
  return `memory/${date}.md`;
}

/** The calendar day before `date`, also across a change of the clocks. */
export function dayBefore(date: string): string {
  return new Date(Date.parse(`${date}T12:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
}

function formatIn(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", { ...fields, timeZone });
  } catch {
    return new Intl.DateTimeFormat("en-US", { ...fields, timeZone: "UTC" });
  }
}
