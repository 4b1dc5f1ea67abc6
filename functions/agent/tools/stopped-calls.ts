import { cancelCalls } from "../../../shared/peers/cancel-calls.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import { type ToolResultMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { encodeCallAddress, sentCalls } from "../../../shared/session/call-address.ts";
import { readOutcomes } from "../../../shared/session/calls.ts";
import type { Run } from "../../../shared/session/run.ts";
import { waitingRequests } from "../../../shared/session/waiting.ts";
import type { Agent } from "../agent.ts";
import type { SessionWriter } from "../session-writer.ts";
import { closeRequests } from "./ask-owner.ts";
import { recordDecisions } from "./record-decisions.ts";
import { originsOfResults, toResultMessages } from "./tool-results.ts";

/** Cancels the pending calls of a run on their nodes. @returns the ids of the calls whose cancellation was sent */
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
 * @returns their results for the transcript, and whose words these are; a call without an answer gets an error
 */
export async function stopCalls(
  agent: Agent,
  { sessionKey, state }: Pick<SessionWriter, "sessionKey" | "state">,
  run: Run,
  nodes: () => Promise<PeerRecord[]>,
): Promise<{ results: ToolResultMessage[]; origins: string[] }> {
  if (run.phase !== "tools") return { results: [], origins: [] };
  await closeRequests(agent, { sessionKey }, run, waitingRequests(run), "withdrawn");
  const cancelled = await endPendingCalls(agent, sessionKey, run, nodes);
  const reply = (await agent.history.load(state)).at(-1);
  if (reply?.role !== "assistant") return { results: [], origins: [] };
  const calls = toolCallsOf(reply);
  const outcomes = new Map(await readOutcomes(agent, sessionKey, run, calls));
  const { runId, step, pending } = run;
  for (const { id: callId } of calls) {
    if (outcomes.has(callId)) continue;
    const isCancelled = cancelled.has(encodeCallAddress({ sessionKey, runId, step, callId }));
    const machine = isCancelled
      ? "its machine was asked to cancel it"
      : "its machine could not be reached, and may continue";
    const isRequest = pending[callId]?.approval !== undefined;
    const started = pending[callId]?.asked ? "the other conversation continues" : machine;
    const how = Object.hasOwn(pending, callId) && !isRequest ? started : "it was not started";
    outcomes.set(callId, { error: `stopped by the user; ${how}`, origins: [] });
  }
  const results = toResultMessages(run, calls, outcomes, agent.now());
  await recordDecisions(agent, sessionKey, run, reply, results);
  return { results, origins: originsOfResults(reply, outcomes) };
}
