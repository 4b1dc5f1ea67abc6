import { cancelCalls } from "../../../shared/peers/cancel-calls.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import { type ToolResultMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { encodeCallAddress, sentCalls } from "../../../shared/session/call-address.ts";
import { readOutcomes } from "../../../shared/session/calls.ts";
import type { Run } from "../../../shared/session/run.ts";
import { waitingRequests } from "../../../shared/session/waiting.ts";
import type { Agent } from "../agent.ts";
import { cancelTasks } from "../mcp/cancel-tasks.ts";
import type { SessionWriter } from "../session-writer.ts";
import { closeRequests } from "./ask-owner.ts";
import { recordDecisions, recordLimit } from "./record-decisions.ts";
import { originsOfResults, toResultMessages } from "./tool-results.ts";

/** What the model reads of calls without an answer: why they ended, and what is known of one that waited for nobody. */
const endings = {
  stopped: { why: "stopped by the user", own: "it was not started" },
  "given up": { why: "interrupted", own: "outcome unknown" },
};

/** The results of calls that have ended, for the transcript, and whose words these are. */
export interface EndedCalls {
  results: ToolResultMessage[];
  origins: string[];
}

/** Ends the calls of a run that was stopped or is given up, and cancels those of nodes. A call without an answer gets an error. */
export async function endCalls(
  agent: Agent,
  { sessionKey, state }: Pick<SessionWriter, "sessionKey" | "state">,
  run: Run,
  ending: keyof typeof endings,
  nodes: () => Promise<PeerRecord[]>,
): Promise<EndedCalls> {
  if (run.phase !== "tools") return { results: [], origins: [] };
  await closeRequests(agent, { sessionKey }, run, waitingRequests(run), "withdrawn");
  if (run.limit) {
    await recordLimit(agent, sessionKey, run, endings[ending].why);
    return { results: [], origins: [] };
  }
  const [cancelled, ofServers] = await Promise.all([
    cancelCalls(agent, nodes, sentCalls(sessionKey, run)),
    cancelTasks(agent, run),
  ]);
  const reply = (await agent.history.load(state)).at(-1);
  if (reply?.role !== "assistant") return { results: [], origins: [] };
  const calls = toolCallsOf(reply);
  const outcomes = new Map(await readOutcomes(agent, sessionKey, run, calls));
  const { runId, step, pending } = run;
  const { why, own } = endings[ending];
  for (const { id: callId } of calls) {
    if (outcomes.has(callId)) continue;
    const isCancelled = cancelled.has(encodeCallAddress({ sessionKey, runId, step, callId }));
    const machine = isCancelled
      ? "its machine was asked to cancel it"
      : "its machine could not be reached, and may continue";
    const waited = Object.hasOwn(pending, callId) ? pending[callId] : undefined;
    const server = ofServers.has(callId)
      ? "its server was asked to cancel it"
      : "its server could not be asked to cancel it, and may continue";
    const remote = waited?.remote ? server : machine;
    const started = waited?.asked ? "the other conversation continues" : remote;
    const how = waited?.approval ? "it was not started" : waited ? started : own;
    outcomes.set(callId, { error: `${why}; ${how}`, origins: [] });
  }
  const results = toResultMessages(run, calls, outcomes, agent.now());
  await recordDecisions(agent, sessionKey, run, reply, results);
  return { results, origins: originsOfResults(reply, outcomes) };
}
