import type { TableCall } from "../../local/items/table-call.ts";
import type { Condition, Step } from "../../shared/world/expression.ts";
import { bucketPartition } from "./model/bucket.ts";

/** A part of a condition, by its operator and its path. */
export type Part = Exclude<Condition, { of: Condition[] }>;

/** Removes parts from every condition, at any depth. A condition without parts always holds. */
export function without(isDropped: (part: Part) => boolean): (call: TableCall) => TableCall {
  const kept = (condition: Condition): Condition | undefined => {
    if (!("of" in condition)) return isDropped(condition) ? undefined : condition;
    const of = condition.of.map(kept).filter((one) => one !== undefined);
    return of.length > 0 ? { ...condition, of } : undefined;
  };
  return (call) => {
    if (!("condition" in call) || !call.condition) return call;
    return { ...call, condition: kept(call.condition) };
  };
}

/** Replaces each step of an update by those that `change` returns for it. */
function changeSteps(change: (step: Step, all: readonly Step[]) => Step[]): (call: TableCall) => TableCall {
  return (call) => {
    if (call.op !== "update") return call;
    return { ...call, steps: call.steps.flatMap((step) => change(step, call.steps)) };
  };
}

const isAt = (part: Part, ...path: (string | number)[]) => [part.path].flat().join("/") === path.join("/");

/** Parts of writes that the protocol needs, each to be removed or changed once. */
export const mutations = {
  "the epoch of a commit": without((part) => part.is === "=" && isAt(part, "epoch")),
  "an empty inbox at the idle release": without((part) => part.is === "absent" && isAt(part, "inbox", 0)),
  "a pending call at the waiting release": without(
    (part) => isAt(part, "run", "pendingCount") && part.is === ">",
  ),
  "the ids accepted before": without(({ is, path }) => is === "absent" && [path].flat()[0] === "recent"),
  "the ids settled before": without((part) => part.is === "lacks"),
  "no stop at the waiting release": without((part) => part.is === "absent" && isAt(part, "stop")),
  "the lease of another": without((part) => isAt(part, "leaseUntil")),
  "a holder to renew": without((part) => part.is === "exists" && isAt(part, "owner")),
  "the writer of a message": (call: TableCall) =>
    call.op === "put" && call.item.sk.startsWith("M#") ? { ...call, condition: undefined } : call,
  "the entry that is taken out": without((part) => part.is === "=" && isAt(part, "inbox", 0, "id")),
  "the run that ends": (call: TableCall) =>
    call.op === "update" && call.steps.some(({ op, path }) => op === "remove" && path === "stop")
      ? without((part) => isAt(part, "run", "runId"))(call)
      : call,
  "the first answer to a request": without(
    ({ is, path }) => is === "absent" && [path].flat().at(-1) === "answer",
  ),
  "no stop at an answer": without((part) => part.is === "<>" && isAt(part, "stop")),
  "the mark of an answer": changeSteps((step) =>
    step.op === "add" && [step.path].flat().join("/") === "run/decided" && Number(step.by) > 0 ? [] : [step],
  ),
  "no answer at the waiting release": without((part) => isAt(part, "run", "decided")),
  "the archive of a reset": (call: TableCall) =>
    call.op === "put" && call.item.pk === bucketPartition
      ? { ...call, item: { ...call.item, sk: "elsewhere" } }
      : call,
  "the messages that a compaction keeps": changeSteps((step, steps) =>
    step.op === "set" && step.path === "head" && steps.some(({ path }) => path === "first")
      ? [{ ...step, value: Number(step.value) - 1 }]
      : [step],
  ),
  "the mark of what is to be deleted": changeSteps((step) => (step.path === "clearFrom" ? [] : [step])),
  "the end of a reset": changeSteps((step, steps) =>
    step.op === "remove" && step.path === "resetting" && steps.length > 1 ? [] : [step],
  ),
  "the id of the next conversation": changeSteps((step) => (step.path === "sessionId" ? [] : [step])),
} satisfies Record<string, (call: TableCall) => TableCall>;
