import { logDecisions } from "../../../shared/approvals/decision-log.ts";
import {
  type AssistantMessage,
  type ToolResultMessage,
  textOf,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { readOutcomes } from "../../../shared/session/calls.ts";
import { toResultMessage } from "../../../shared/session/result-message.ts";
import { type Run, wordsRead } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { SessionWriter } from "../session-writer.ts";

/**
 * Logs what was decided about the calls of a reply, and how they ended. Repeated until the write that ends the step, so a crash
 * loses no entry.
 * @param results one for each call
 */
export async function recordDecisions(
  { table, now }: Pick<Agent, "table" | "now">,
  sessionKey: string,
  run: Run,
  reply: AssistantMessage,
  results: readonly ToolResultMessage[],
): Promise<void> {
  // An earlier version has begun the step.
  if (!run.decisions) return;
  const { at, calls } = run.decisions;
  const logged = toolCallsOf(reply).flatMap(({ id: callId, name: tool, arguments: args }) => {
    const decided = Object.hasOwn(calls, callId) ? calls[callId] : undefined;
    const result = results.find(({ toolCallId }) => toolCallId === callId);
    if (!decided || !result) return [];
    const end = result.isError
      ? { ended: "error" as const, error: textOf(result) }
      : { ended: "ok" as const };
    const call = { callId, tool, args: JSON.stringify(args), origins: [...wordsRead(run)], endedAt: now() };
    return [{ ...call, ...decided, ...end }];
  });
  await logDecisions(table, { sessionKey, runId: run.runId, step: run.step, at, calls: logged });
}

/** The same for a run that failed while calls were open: nobody knows how these ended. */
export async function recordFailed(
  agent: Agent,
  { sessionKey, state }: Pick<SessionWriter, "sessionKey" | "state">,
  run: Run,
): Promise<void> {
  if (!run.decisions) return;
  const ids = Object.keys(run.decisions.calls);
  const reply = (await agent.history.load(state)).findLast((one) =>
    toolCallsOf(one).some(({ id }) => ids.includes(id)),
  );
  if (reply?.role !== "assistant") return;
  const outcomes = await readOutcomes(agent, sessionKey, run, toolCallsOf(reply));
  const results = toolCallsOf(reply).map((call) => {
    const known = outcomes.get(call.id);
    const outcome = known && known !== "interrupted" ? known : { error: `unknown: ${run.failure}` };
    return toResultMessage(call, outcome, agent.now());
  });
  await recordDecisions(agent, sessionKey, run, reply, results);
}
