import type { TableCall } from "../../local/items/table-call.ts";
import type { Condition } from "../../shared/world/expression.ts";

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

const isAt = (part: Part, ...path: (string | number)[]) => [part.path].flat().join("/") === path.join("/");

/** Conditions that the protocol needs, each to be left out once. */
export const mutations = {
  "the epoch of a commit": without((part) => part.is === "=" && isAt(part, "epoch")),
  "an empty inbox at the idle release": without((part) => part.is === "absent" && isAt(part, "inbox", 0)),
  "a pending call at the waiting release": without(
    (part) => isAt(part, "run", "pendingCount") && part.is === ">",
  ),
  "the ids accepted before": without((part) => part.is === "absent" && [part.path].flat()[0] === "recent"),
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
} satisfies Record<string, (call: TableCall) => TableCall>;
