import { type AssistantMessage, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import { scheduleTimeout } from "../../shared/session/calls.ts";
import { answered, stepName, waitingFor } from "../../shared/session/run.ts";
import { spendingOf, spendingStep } from "../../shared/session/spending/spending.ts";
import { assign } from "../../shared/session/state.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { beginCompaction } from "./compaction/compaction.ts";
import { shrinkAfterRefusal } from "./context/context-fit.ts";
import { sizeSteps } from "./context/context-size.ts";
import type { Prepared, TurnContext } from "./context/model-request.ts";
import { replyContext } from "./context/provenance.ts";
import type { ModelOutcome } from "./model/model-call.ts";
import { withCallIds } from "./model/wire/call-ids.ts";
import { announce, failRun, unannounced } from "./reply/delivery.ts";
import { runOf, type SessionWriter } from "./session-writer.ts";
import type { StepContext } from "./step-context.ts";
import { callsDeadline } from "./time-limit.ts";
import { carryOutCalls } from "./tools/carry-out-calls.ts";
import { pendingCalls, planCalls } from "./tools/plan-calls.ts";

/** A run that calls tools this many times in a row is ended: it is going in circles. */
const maxSteps = 200;

/** What follows from a model call: its reply or its tool calls are committed, or the run fails, or a smaller call follows. */
export async function takeOutcome(
  agent: Agent,
  writer: SessionWriter,
  prepared: Prepared,
  outcome: ModelOutcome,
  context: StepContext,
): Promise<StepContext> {
  if (outcome.status === "aborted") return context;
  const { request, turn } = prepared;
  const run = runOf(writer);
  if (outcome.status === "failed") {
    const smaller = outcome.overflow ? shrinkAfterRefusal(run, request) : undefined;
    if (!smaller) await failRun(agent, writer, outcome.error);
    else if (smaller.cut) await beginCompaction(agent, writer, smaller.cut, smaller.steps);
    else await writer.commit(smaller.steps);
    return context;
  }
  const occasion = { runId: run.runId, now: agent.now(), timezone: turn.configuration.userTimezone };
  const noted = [
    spendingStep(writer.state, spendingOf(outcome.message.usage), occasion),
    ...sizeSteps(outcome.message, request),
    ...agent.keptPrompts.steps(writer.state, turn.agentId, turn.prompt),
  ];
  const identified = withCallIds(outcome.message, request.messages, agent.now());
  const reply = { ...identified, context: replyContext(prepared) };
  if (toolCallsOf(reply).length > 0) {
    if (run.step < maxSteps) return commitCalls(agent, writer, reply, turn, noted, context);
    await failRun(agent, writer, `LLM error: stopped after ${maxSteps} rounds of tool calls`);
  } else if (textOf(reply).trim() === "") {
    await failRun(agent, writer, emptyAnswer(reply));
  } else {
    // The answer is delivered in a step of its own, so that a crash in between does not lose it.
    await commitReply(writer, reply, [...noted, assign("run", answered(run))]);
  }
  return context;
}

function emptyAnswer({ stopReason, usage, content }: AssistantMessage): string {
  if (stopReason !== "length") return "LLM returned empty response";
  const limit = usage?.output ? `its limit of ${usage.output} output tokens` : "its limit of output tokens";
  const thought = content.some((block) => block.type === "thinking");
  return `LLM error: the model reached ${limit} ${thought ? "while it was still thinking" : "before it said anything"}; raise model.maxTokens, or lower the thinking level`;
}

/** Commits a reply that calls tools, starts the calls, and announces to clients what the model said with them. */
async function commitCalls(
  agent: Agent,
  writer: SessionWriter,
  reply: AssistantMessage,
  turn: TurnContext,
  noted: readonly Step[],
  { listeners, ...context }: StepContext,
): Promise<StepContext> {
  const run = runOf(writer);
  const { sessionKey } = writer;
  const planned = await planCalls(agent, sessionKey, turn, run, reply);
  const now = agent.now();
  const pending = pendingCalls(planned, now);
  const deadline = callsDeadline(run, pending, turn.configuration.timeouts.toolMs, now);
  const waiting = waitingFor(run, pending, deadline);
  await commitReply(writer, reply, [...noted, assign("run", waiting)]);
  // A stop has come while the model answered.
  if (writer.state.stop === run.runId) {
    const anew = listeners?.then(() => agent.broadcast.clients());
    anew?.catch(() => {});
    return { ...context, listeners: anew };
  }
  const said = textOf(reply) === "" ? "calls" : "partial";
  // Not before the commit: a timeout that came ahead of it would find nothing to end, and there is no second one.
  const beside = Promise.all([
    waiting.pendingCount > 0 ? scheduleTimeout(agent, sessionKey, waiting) : undefined,
    announce(agent, sessionKey, run.runId, said, reply, listeners).catch(unannounced(sessionKey, run.runId)),
  ]);
  beside.catch(() => {});
  await carryOutCalls(agent, writer, turn, waiting, planned);
  await beside;
  return { ...context, dispatchedStep: stepName(waiting) };
}

/** Appends a reply to the transcript and counts its tokens. */
async function commitReply(
  writer: SessionWriter,
  reply: AssistantMessage,
  steps: readonly Step[],
): Promise<void> {
  const { tokens } = writer.state;
  const { usage } = reply;
  if (!usage) return writer.append([reply], steps);
  const input = tokens.input + usage.input + usage.cacheRead + usage.cacheWrite;
  const output = tokens.output + usage.output;
  await writer.append([reply], [assign("tokens", { input, output, total: input + output }), ...steps]);
}
