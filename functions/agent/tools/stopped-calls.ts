import { cancelCalls } from "../../../shared/peers/cancel-calls.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import { type ToolResultMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { encodeCallAddress, sentCalls } from "../../../shared/session/call-address.ts";
import { readOutcomes } from "../../../shared/session/calls.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { SessionWriter } from "../session-writer.ts";
import { toResultMessages } from "./tool-results.ts";

/** Has the nodes end the calls that a run waits for. @returns the ids of the calls of which their node was told */
export function endPendingCalls(
  { sockets }: Pick<Agent, "sockets">,
  sessionKey: string,
  run: Run,
  nodes: () => Promise<PeerRecord[]>,
): Promise<ReadonlySet<string>> {
  return cancelCalls({ sockets }, nodes, sentCalls(sessionKey, run));
}

/**
 * Ends the calls of a run that was stopped.
 * @returns their results for the transcript: what was answered before, and for the others that they were stopped. None
 * when the transcript has them: a repeat after a crash appends nothing
 */
export async function stopCalls(
  agent: Agent,
  { sessionKey, state }: Pick<SessionWriter, "sessionKey" | "state">,
  run: Run,
  nodes: () => Promise<PeerRecord[]>,
): Promise<ToolResultMessage[]> {
  if (run.phase !== "tools") return [];
  const told = await endPendingCalls(agent, sessionKey, run, nodes);
  const reply = (await agent.history.load(state)).at(-1);
  if (reply?.role !== "assistant") return [];
  const calls = toolCallsOf(reply);
  const outcomes = new Map(await readOutcomes(agent, sessionKey, run, calls));
  const { runId, step, pending } = run;
  for (const { id: callId } of calls) {
    if (outcomes.has(callId)) continue;
    const isTold = told.has(encodeCallAddress({ sessionKey, runId, step, callId }));
    const machine = isTold
      ? "its machine was told to end it"
      : "its machine could not be told, and may go on";
    const begun = pending[callId]?.asked ? "the conversation that was asked goes on" : machine;
    const how = Object.hasOwn(pending, callId) ? begun : "it was not begun";
    outcomes.set(callId, { error: `stopped by the user; ${how}` });
  }
  return toResultMessages(run, calls, outcomes, agent.now());
}
