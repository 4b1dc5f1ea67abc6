import { code, PeerError } from "../protocol/errors.ts";
import { absent, equal, set } from "../world/expression.ts";
import { type ItemValue, succeeds, type Table } from "../world/world.ts";
import { cronPartition } from "./job-item.ts";

/**
 * The runs in progress, in one item, which enforces `cron.maxConcurrentRuns` when several jobs are due at once. The slot of
 * a lost run is free from `until` on.
 */
const slotsKey = { pk: cronPartition, sk: "RUNNING" };

/** By job id. Times are epoch ms; `at` identifies the run. */
type Slots = Record<string, { at: number; until: number }>;

/** Attempts of one optimistic write; more conflicts in a row indicate another fault. */
const maxAttempts = 10;

/** Acquires a slot for a job's run. True if this run already has one; false if none is free, or the job has another run in progress. */
export function acquireSlot(
  table: Table,
  { jobId, at, until }: { jobId: string; at: number; until: number },
  maxRuns: number,
  now: number,
): Promise<boolean> {
  return change(table, now, (slots) => {
    const own = slots[jobId];
    if (own) return own.at === at ? "done" : "refused";
    return Object.keys(slots).length < maxRuns ? { ...slots, [jobId]: { at, until } } : "refused";
  });
}

/** Frees the slot of a job's run, if this run has one. */
export async function freeSlot(table: Table, jobId: string, at: number, now: number): Promise<void> {
  await change(table, now, (slots) => {
    if (slots[jobId]?.at !== at) return "done";
    const { [jobId]: _freed, ...others } = slots;
    return others;
  });
}

async function change(
  table: Table,
  now: number,
  next: (slots: Slots) => Slots | "done" | "refused",
): Promise<boolean> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const item = await table.get(slotsKey);
    const all = Object.entries((item?.runs ?? {}) as unknown as Slots);
    const result = next(Object.fromEntries(all.filter(([, { until }]) => until > now)));
    if (typeof result === "string") return result === "done";
    const version = Number(item?.version ?? 0);
    const steps = [set("runs", result as unknown as ItemValue), set("version", version + 1)];
    const unchanged = version === 0 ? absent("version") : equal("version", version);
    if (await succeeds(table.update(slotsKey, steps, unchanged))) return true;
  }
  throw new PeerError(code.conflict, "too many scheduled jobs start or end right now; try again", {
    retryable: true,
  });
}
