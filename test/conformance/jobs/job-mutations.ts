import type { TableCall } from "../../../local/items/table-call.ts";
import type { JobRun } from "../../../shared/cron/job-item.ts";

type Update = Extract<TableCall, { op: "update" }>;

const sets = ({ steps }: Update, name: string) => steps.some(({ op, path }) => op === "set" && path === name);
const removesRun = ({ steps }: Update) => steps.some(({ op, path }) => op === "remove" && path === "run");

/** Whether a write claims a run that has no slot yet. */
function isClaim({ steps }: Update): boolean {
  const [run] = steps.flatMap((step) => (step.op === "set" && step.path === "run" ? [step.value] : []));
  return (run as JobRun | undefined)?.tentative === true;
}

/** Removes the condition, and so the epoch, of some writes of jobs. */
function unfenced(isMeant: (call: Update) => boolean): (call: TableCall) => TableCall {
  return (call) =>
    call.op === "update" && call.key.pk === "CRON" && isMeant(call)
      ? { ...call, condition: undefined }
      : call;
}

/** Parts of writes that the protocol needs, each to be removed once. */
export const jobMutations = {
  "the epoch of an edit": unfenced((call) => sets(call, "updatedAtMs")),
  "the epoch of a claim": unfenced(isClaim),
  "the epoch of an admission": unfenced((call) => sets(call, "run") && sets(call, "nextRunAtMs")),
  "the epoch of a run's end": unfenced((call) => removesRun(call) && sets(call, "lastStatus")),
  "the epoch of a claim given up": unfenced((call) => removesRun(call) && !sets(call, "lastStatus")),
} satisfies Record<string, (call: TableCall) => TableCall>;
