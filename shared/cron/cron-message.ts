import type { StoredJob } from "./job-item.ts";

/** A run that begins this long after its time says so, ms. A schedule alone may be a minute late. */
const lateMs = 120_000;

/**
 * What the agent is told: `[cron · Friday, February 13, 2026 — 3:30 PM UTC]`, the job, and its text. A run that comes late
 * says when it was due.
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
  const date = new Intl.DateTimeFormat("en-US", { timeZone: timezone, dateStyle: "full" }).format(at);
  const time = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  }).format(at);
  // Newer versions of ICU put a narrow no-break space before AM and PM.
  return `${date} — ${time}`.replace(/\u202f/g, " ");
}
