import type { StoredJob } from "../../../../shared/cron/job-item.ts";
import type { CronRun } from "../../../../shared/protocol/cron.ts";
import type { Stage } from "../scene.ts";
import type { JobsSeen } from "./job-rules.ts";

/** The faults of jobs when no work is left: a run without an end, or with another end than its message's. */
export function endFaults({ ledger, cloud, faults }: Stage, seen: JobsSeen, jobs: StoredJob[]): string[] {
  const found: string[] = [];
  const history = [...cloud.store.range({ pk: "CRONRUN" })] as unknown as CronRun[];
  const runs = new Map(history.map((run) => [run.id, run]));
  for (const { name, run, removed } of jobs)
    if (run || removed) found.push(`the job ${name} still has ${run ? "a run" : "an item"}`);
  for (const id of seen.admitted) if (!runs.has(id)) found.push(`${id} is not in the history`);
  for (const { id, status, error } of runs.values()) {
    const sent = ledger.entries.get(id);
    const isTask = sent?.entry.kind === "message" && sent.entry.task !== undefined;
    const outcome = isTask ? sent.outcome : undefined;
    if (status === "queued" || status === "running") found.push(`${id} has no end`);
    if (status === "ok" && !sent) found.push(`${id} is ok, but no session got it`);
    if (outcome === "answered" && status !== "ok")
      found.push(`${id} was answered, but is ${status}: ${error}`);
    if (outcome && outcome !== "answered" && status !== "error")
      found.push(`${id} ${outcome}, but is ${status}`);
    if (status === "lost" && faults.total === 0) found.push(`${id} was lost without a fault`);
  }
  return found;
}
