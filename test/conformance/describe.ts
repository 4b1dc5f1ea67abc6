import type { TableCall } from "../../local/items/table-call.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Request } from "./model/process.ts";
import type { Member } from "./model/world.ts";

/** The name of a process in a printed schedule. */
export function describeMember({ node, epoch }: Member): string {
  return epoch > 0 ? `${node.program.name} (epoch ${epoch})` : node.program.name;
}

/** Describes a request of a process. */
export function describeRequest(request: Request): string {
  switch (request.to) {
    case "table":
      return describeCall(request.call);
    case "scheduler":
      return `schedule ${request.name}`;
    case "node":
      return "send the call to the node";
    case "agent":
      return "wake the agent";
    case "model":
      return "call the model";
  }
}

function describeCall(call: TableCall): string {
  switch (call.op) {
    case "query":
      return `query ${call.query.from ?? call.query.prefix ?? ""}…`;
    case "queryIndex":
      return `query the index ${call.query.index}`;
    case "put":
      return `put ${call.item.sk}`;
    case "update":
      return `update ${call.key.sk}: ${call.steps.map(describeStep).join(", ")}`;
    default:
      return `${call.op} ${call.key.sk}`;
  }
}

function describeStep(step: Step): string {
  const path = [step.path].flat().join(".");
  if (step.op !== "set") return `${step.op} ${path}`;
  return `${path} = ${typeof step.value === "object" ? "…" : step.value}`;
}
