import type { ItemStore } from "../../../../local/items/item-store.ts";
import type { StoredJob } from "../../../../shared/cron/job-item.ts";
import type { CronRun } from "../../../../shared/protocol/cron.ts";
import { metaKey, type SessionState } from "../../../../shared/session/state.ts";
import type { Stage } from "../scene.ts";

/** What was seen of the jobs. */
export interface JobsSeen {
  /** Runs that got a slot, by their id. */
  admitted: Set<string>;
  /** Names that were written. */
  names: Set<string>;
  /** Those that a person forced. */
  forced: Set<string>;
}

/** Number of tasks that may run at the same time, in the settings of a schedule. */
export const maxRuns = 1;

/** A job is planned again at most this long after its time, unless it runs: the sweep finds it. Milliseconds. */
const maxOverdueMs = 180_000;

export const runIdOf = (jobId: string, at: number) => `cron-${jobId}-${at}`;

interface JobChange {
  before: StoredJob | undefined;
  after: StoredJob | undefined;
}

/** The faults of a write of a job. */
export function jobFaults(
  seen: JobsSeen,
  { before, after }: JobChange,
  jobs: readonly StoredJob[],
  store: Pick<ItemStore, "get">,
): string[] {
  const faults: string[] = [];
  const name = `the job ${after?.name ?? before?.name}`;
  if (after) seen.names.add(after.name);
  if (before && after && after.version !== before.version + 1)
    faults.push(`a write of ${name} ignored another`);
  const ended =
    before?.run && !before.run.tentative && before.run.at !== after?.run?.at ? before.run : undefined;
  if (ended && !isEnded(store, before?.id as string, ended.at)) faults.push(`a run of ${name} was removed`);
  if (!after) return faults;
  const { run } = after;
  if (run && !run.tentative && (before?.run?.at !== run.at || before.run.tentative)) {
    const id = runIdOf(after.id, run.at);
    if (seen.admitted.has(id)) faults.push(`${id} was claimed twice`);
    seen.admitted.add(id);
    if (run.forced) seen.forced.add(id);
  }
  const running = jobs.filter(({ spec, run: one }) => spec.mode === "task" && one && !one.tentative);
  if (running.length > maxRuns) faults.push(`${running.length} tasks run at the same time`);
  return before ? [...faults, ...timeFaults(seen, before, after)] : faults;
}

/** A time is claimed, skipped, or replaced by an edit; it never goes back. */
function timeFaults(seen: JobsSeen, before: StoredJob, after: StoredJob): string[] {
  const [last, next] = [before.nextRunAtMs, after.nextRunAtMs];
  if (last === next) return [];
  if (next !== undefined && seen.admitted.has(runIdOf(after.id, next)))
    return [`the job ${after.name} plans a time again that has run`];
  if (before.updatedAtMs !== after.updatedAtMs || after.removed || last === undefined) return [];
  if (next !== undefined && next < last) return [`the next time of the job ${after.name} went back`];
  const isExplained = after.run?.at === last || after.lastStatus === "skipped";
  return isExplained ? [] : [`a time of the job ${after.name} was passed over`];
}

function isEnded(store: Pick<ItemStore, "get">, jobId: string, at: number): boolean {
  const run = store.get({ pk: "CRONRUN", sk: `${jobId}#${String(at).padStart(16, "0")}` });
  return run?.durationMs !== undefined;
}

/** The faults of a write of a run in the history: it ends once, as its message did. */
export function runFaults({ ledger, cloud }: Stage, before?: CronRun, after?: CronRun): string[] {
  if (!after) return [];
  const { id, status, summary } = after;
  const sent = ledger.entries.get(id);
  const isTask = sent?.entry.kind === "message" && sent.entry.task !== undefined;
  const state = sent && (cloud.store.get(metaKey(sent.sessionKey)) as unknown as SessionState);
  const run = state?.run?.runId === id ? state.run : undefined;
  const faults: string[] = [];
  if (before?.durationMs !== undefined && before.status !== "lost" && before.status !== status)
    faults.push(`${id} was ${before.status} and then ${status}`);
  const hasRun = isTask ? sent.outcome === "answered" || run?.phase === "reply" : sent;
  if (status === "ok" && !hasRun) faults.push(`${id} is ok before it ran (${summary})`);
  const isKept = run !== undefined || state?.inbox.some((entry) => entry.id === id);
  if (status === "lost" && isKept) faults.push(`${id} is lost, but its session has it`);
  return faults;
}

/** The jobs that neither run nor are planned again. */
export function overdueFaults(jobs: readonly StoredJob[], now: number): string[] {
  return jobs.flatMap(({ name, enabled, run, nextRunAtMs = now }) =>
    enabled && !run && nextRunAtMs < now - maxOverdueMs ? [`the job ${name} is dead`] : [],
  );
}
