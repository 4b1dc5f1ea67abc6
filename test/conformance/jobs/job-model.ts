import type { TableCall } from "../../../local/items/table-call.ts";
import { cronPartition } from "../../../shared/cron/job-item.ts";
import type { Item, ItemValue } from "../../../shared/world/world.ts";
import { firstMoment } from "../model/moves.ts";
import type { Request } from "../model/process.ts";
import type { Model } from "../scenario.ts";
import { fire, periodMs, sweepOf, worker } from "./job-programs.ts";
import { inboxOf, isIdle, jobFaults, jobsIn, restFaults } from "./job-rules.ts";

/** Jobs, those who change them, and the sessions of their runs. */
export const jobModel: Model = {
  mask: (request) => (request.to === "table" ? { to: "table", call: maskCall(request.call) } : request),
  isIndependent: ({ outside }, { node }, { isCoarse }) =>
    node.waiting.length > 0 &&
    node.waiting.every(({ request }) =>
      isCoarse ? !isOfJob(request) : meetsNobody(request, outside.schedules),
    ),
  changeFaults: jobFaults,
  restFaults: ({ table, outside }) => restFaults(table, outside.clock, outside.crashed),
  isDone: ({ table, outside }) =>
    jobsIn(table).every((job) => isIdle(job, outside.clock) && inboxOf(table, job.id).length === 0),
  timeOf: (event) => ("at" in event ? event.at : 0),
  fired(event) {
    if (event.kind !== "cron") throw new Error(`the check has no event ${event.kind}`);
    return fire(event.jobId, event.at);
  },
  sweepers({ table, outside }) {
    const jobs = jobsIn(table);
    const due = jobs.filter((job) => (job.dueAt ?? Number.POSITIVE_INFINITY) <= outside.clock);
    const ids = jobs.map(({ id }) => id).filter((id) => inboxOf(table, id).length > 0);
    return [...due.map(({ id }) => sweepOf(id)), ...(ids.length > 0 ? [worker(...ids)] : [])];
  },
  // Jobs wait for a slot.
  calmSweeps: 2,
  // The longest that a claim may be left alone, and a grace period.
  restMs: 180_000,
  // The next time of the jobs comes, and their runs may be lost.
  pauseMs: periodMs + 20 * 60_000,
};

/** Only the run's own job reads the list of its runs, to delete those that exceed the limit; no scenario has so many. */
function meetsNobody(request: Request, schedules: readonly { name: string }[]): boolean {
  if (request.to === "scheduler") return !schedules.some(({ name }) => name === request.name);
  return request.to === "agent" || (request.to === "table" && isPruning(request.call));
}

function isOfJob(request: Request): boolean {
  if (request.to !== "table" || request.call.op === "queryIndex") return false;
  const { call } = request;
  return (call.op === "query" ? call.query : call.op === "put" ? call.item : call.key).pk === cronPartition;
}

const isPruning = (call: TableCall) => call.op === "query" && call.query.pk === "CRONRUN";

/** Times that no decision reads. */
const idleTimes = new Set(["updatedAtMs", "durationMs", "lastDurationMs", "expiresAt"]);

function maskCall(call: TableCall): TableCall {
  if (call.op === "put") return { ...call, item: masked(call.item) as typeof call.item };
  if (call.op !== "update") return call;
  const steps = call.steps.map((step) => {
    if (step.op !== "set") return step;
    const [name] = [step.path].flat();
    return { ...step, value: name === "recent" || idleTimes.has(String(name)) ? firstMoment : step.value };
  });
  return { ...call, steps };
}

function masked(item: Item): Item {
  const fields = Object.entries(item).map(([name, value]): [string, ItemValue | undefined] => [
    name,
    idleTimes.has(name) ? 0 : value,
  ]);
  return Object.fromEntries(fields) as Item;
}
