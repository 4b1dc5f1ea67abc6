import type { StoredJob } from "./job-item.ts";

/** A run that starts this long after its time is announced as late, ms. Schedules may fire a minute late. */
const lateMs = 120_000;

/**
 * The message for the agent: `[cron · Friday, February 13, 2026 — 3:30 PM UTC]`, the job's name and its text. A late run
 * also says when it was due.
 * @param at when it was due, epoch ms; undefined when a person runs it by hand
 */
export function cronMessage(
  { name, spec }: Pick<StoredJob, "name" | "spec">,
  at: number | undefined,
  now: number,
  timezone: string,
): string {
  const lines = [`[cron · ${shownTime(now, timezone)}]`, `Scheduled job: ${name.replace(/\s+/g, " ")}`];
  if (at !== undefined && now - at > lateMs)
    lines.push(
      `(This run is late: it was due at ${shownTime(at, timezone)}. Runs missed since then are left out.)`,
    );
  return [...lines, "", spec.mode === "task" ? spec.message : spec.text].join("\n");
}

/** `Friday, February 13, 2026 — 3:30 PM UTC`, in English. */
export function shownTime(at: number, timezone: string): string {
  const { date, time } = formatsIn(timezone);
  // Newer versions of ICU put a narrow no-break space before AM and PM.
  return `${date.format(at)} — ${time.format(at)}`.replace(/\u202f/g, " ");
}

interface Formats {
  date: Intl.DateTimeFormat;
  time: Intl.DateTimeFormat;
}

/** By timezone; cached, because creating a format is much slower than using it. */
const formats = new Map<string, Formats>();

function formatsIn(timeZone: string): Formats {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = {
    date: new Intl.DateTimeFormat("en-US", { timeZone, dateStyle: "full" }),
    time: new Intl.DateTimeFormat("en-US", {
      timeZone,
      hour: "numeric",
      minute: "2-digit",
      timeZoneName: "short",
    }),
  };
  formats.set(timeZone, made);
  return made;
}
