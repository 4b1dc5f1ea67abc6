import { fetchedFrom } from "../../../shared/origins/fetched-from.ts";
import { joinOrigins, machineOrigin, unknownOrigin } from "../../../shared/origins/origins.ts";
import {
  type AssistantMessage,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import type { Outcomes } from "../../../shared/session/calls.ts";
import { toolResultEvent, toResultMessage } from "../../../shared/session/result-message.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";

/** The results of a step's calls as messages: one for each call, in the same order. */
export function toResultMessages(
  run: Pick<Run, "timedOut" | "deadline">,
  calls: readonly ToolCallBlock[],
  outcomes: Outcomes,
  now: number,
): ToolResultMessage[] {
  const late = new Set(run.timedOut ?? []);
  const by = run.deadline ? ` (by ${new Date(run.deadline).toISOString()})` : "";
  const timedOut = {
    error: `the tool did not answer in time${by}; its machine was asked to cancel it, if it can`,
  };
  return calls.map((call) => {
    const known = late.has(call.id) ? undefined : outcomes.get(call.id);
    const outcome = known === "interrupted" ? { error: "interrupted, outcome unknown" } : (known ?? timedOut);
    return toResultMessage(call, outcome, now);
  });
}

/** Whose words the results of a reply's calls contain, and what the calls of nodes fetched. */
export function originsOfResults(reply: AssistantMessage, outcomes: Outcomes): string[] {
  const read = toolCallsOf(reply).map((call) => {
    const outcome = outcomes.get(call.id);
    if (outcome === undefined || outcome === "interrupted") return [];
    return outcome.origins ?? [answererOf(call), ...fetchedFrom(bareName(call.name), call.arguments)];
  });
  return joinOrigins(...read);
}

const bareName = (tool: string): string => tool.split("__").at(-1) ?? "";

/** Whose words a result contains that does not say it: a node's, unless another tool of the gateway has left it out. */
function answererOf({ name, arguments: args }: ToolCallBlock): string {
  const [node = "", tool] = name.split("__");
  if (bareName(name) === "LogsGet")
    return machineOrigin(String((args as { nodeId?: unknown }).nodeId ?? "*"));
  return tool === undefined || node === "gsv" ? unknownOrigin : machineOrigin(node);
}

/** Announces the results of a reply's calls to clients. `results`: one for each call, in the same order. */
export async function announceResults(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  runId: string,
  reply: AssistantMessage,
  results: readonly ToolResultMessage[],
  listeners: Promise<readonly string[]>,
): Promise<void> {
  const clients = await listeners;
  for (const [i, call] of toolCallsOf(reply).entries()) {
    const result = results[i];
    if (!result) continue;
    const event = toolResultEvent(sessionKey, runId, call, result);
    await broadcast.send(clients, "tool.result", event, { ...event, args: {} });
  }
}
