import type { TableCall } from "../../../local/items/table-call.ts";
import type { Step } from "../../../shared/world/expression.ts";
import type { Item, ItemValue } from "../../../shared/world/world.ts";
import type { Request } from "./process.ts";

/** Reported or listed times that no decision reads. Unmasked, they would make every moment a separate state. */
const idleTimes = new Set([
  "at",
  "createdAt",
  "updatedAt",
  "startedAt",
  "listSk",
  "lastResetAt",
  "timestamp",
]);

/** Fields of a compaction or a reset whose time matters, as part of a key or in a comparison. */
const deeds = new Set(["compacting", "resetting"]);

/** The id of the session that a reset begins, until the table replaces it by a reproducible one. */
export const nextSessionId = "next";

/**
 * A request without the parts that no decision reads, so that runs which differ only in these count as one: the times
 * above, the times of accepted ids, expiry times, and the random ids of sessions.
 */
export function maskRequest(request: Request): Request {
  return request.to === "table" ? { to: "table", call: maskCall(request.call) } : request;
}

function maskCall(call: TableCall): TableCall {
  if (call.op === "put") return { ...call, item: maskItem(call.item) as typeof call.item };
  return call.op === "update" ? { ...call, steps: call.steps.map(maskStep) } : call;
}

function maskItem(item: Item): Item {
  const masked = maskTimes(item) as Item;
  if (item.sk === "COMPACTION" && item.at !== undefined) masked.at = item.at;
  if (typeof item.body === "string") masked.body = JSON.stringify(maskTimes(JSON.parse(item.body)));
  if (item.expiresAt !== undefined) masked.expiresAt = 0;
  if (typeof item.sessionId === "string") masked.sessionId = "session";
  if (typeof item.recent === "object") masked.recent = withZeros(item.recent as Item);
  return masked;
}

function maskStep(step: Step): Step {
  const name = typeof step.path === "string" ? step.path : step.path[0];
  if (step.op === "append") return { ...step, values: step.values.map(maskTimes) };
  if (step.op !== "set") return step;
  if (name === "accepted") return { ...step, value: String(step.value).replace(/@\d+/g, "@0") };
  if (deeds.has(String(name))) return { ...step, value: maskNextSession(step.value) };
  if (idleTimes.has(String(name)) || name === "recent") return { ...step, value: 0 };
  return { ...step, value: maskTimes(step.value) };
}

function maskNextSession(value: ItemValue): ItemValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  // The result of a reset contains the id that the table assigned.
  const isNew = value.newSessionId !== undefined && value.oldSessionId === undefined;
  return isNew ? ({ ...value, newSessionId: nextSessionId } as ItemValue) : value;
}

function maskTimes(value: ItemValue): ItemValue {
  if (Array.isArray(value)) return value.map(maskTimes);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    idleTimes.has(name) ? 0 : field === undefined ? undefined : maskTimes(field),
  ]);
  return Object.fromEntries(fields);
}

function withZeros(times: Item): Item {
  return Object.fromEntries(Object.keys(times).map((id) => [id, 0]));
}
