import type { TableCall } from "../../../local/items/table-call.ts";
import type { Step } from "../../../shared/world/expression.ts";
import type { Item, ItemValue } from "../../../shared/world/world.ts";
import type { Request } from "./process.ts";

/** Times that are reported or listed and that no decision reads. With them, every moment would be a separate state. */
const idleTimes = new Set([
  "at",
  "createdAt",
  "updatedAt",
  "startedAt",
  "listSk",
  "lastResetAt",
  "timestamp",
]);

/**
 * A request without the parts that no decision reads, so that runs which differ only in these count as one: the times
 * above, the times in `recent`, expiry times, and the random id of the session.
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
  if (idleTimes.has(String(name)) || name === "recent") return { ...step, value: 0 };
  return { ...step, value: maskTimes(step.value) };
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
