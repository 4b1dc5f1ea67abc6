import { logDecisions } from "../../../shared/approvals/decision-log.ts";
import {
  type AssistantMessage,
  type ToolResultMessage,
  textOf,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { type Run, wordsRead } from "../../../shared/session/run.ts";
import { requestsOf } from "../../../shared/session/waiting.ts";
import type { Agent } from "../agent.ts";

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

/**
 * Logs how a run stopped waiting at the limit of a budget. Repeated until the write that ends the wait.
 * @param error absent: it goes on
 */
export async function recordLimit(
  { table, now }: Pick<Agent, "table" | "now">,
  sessionKey: string,
  { limit, decisions, runId, step, ...run }: Run,
  error?: string,
): Promise<void> {
  const [[callId, decided] = []] = Object.entries(decisions?.calls ?? {});
  if (!limit || !decisions || callId === undefined || !decided) return;
  const [{ approval } = {}] = requestsOf(run);
  const answer = approval?.answer ? { answer: approval.answer } : {};
  const end = error === undefined ? { ended: "ok" as const } : { ended: "error" as const, error };
  const call = { callId, tool: limit.tool, args: "{}", origins: [...wordsRead(run)], endedAt: now() };
  const calls = [{ ...call, ...decided, ...answer, ...end }];
  await logDecisions(table, { sessionKey, runId, step, at: decisions.at, calls });
}
