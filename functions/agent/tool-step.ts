import { type AssistantMessage, type Message, toolCallsOf } from "../../shared/protocol/messages.ts";
import { log } from "../../shared/runtime/log.ts";
import { type Outcomes, readOutcomes, scheduleTimeout } from "../../shared/session/calls.ts";
import { nextStep, type Run, stepName } from "../../shared/session/run.ts";
import { assign, duePartition } from "../../shared/session/state.ts";
import { type Step, set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { readPeers, takePrefetched } from "./context/connected-peers.ts";
import { loadContext } from "./context/model-request.ts";
import { modelStep } from "./model-step.ts";
import { failRun, giveUp, unannounced } from "./reply/delivery.ts";
import type { SessionWriter } from "./session-writer.ts";
import type { StepContext } from "./step-context.ts";
import { callsDeadline } from "./time-limit.ts";
import { carryOutCalls } from "./tools/carry-out-calls.ts";
import { planCalls, sendsOf } from "./tools/plan-calls.ts";
import { announceResults, toResultMessages } from "./tools/tool-results.ts";

/** Calls that were taken up this often are given up with the run; a repeated event counts too. */
const maxCallAttempts = 8;

/** When results are collected, peers that were read less than this long ago are used. Milliseconds. */
const freshPeersMs = 1000;

/** Waits for the tools of a run, or takes their results and goes on. @returns "released" when the session was let go to wait */
export async function toolStep(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  context: StepContext,
): Promise<StepContext | "released"> {
  const messages = await agent.history.load(writer.state);
  const reply = messages.at(-1);
  if (reply?.role !== "assistant") {
    await failRun(agent, writer, "LLM error: the calls that this turn waits for are missing");
    return context;
  }
  const isDispatched = context.dispatchedStep === stepName(run);
  const known = isDispatched ? undefined : await resumeCalls(agent, writer, run, reply);
  const waiting = writer.state.run;
  if (waiting?.phase !== "tools") return context;
  if (waiting.pendingCount > 0 && (await writer.releaseWaiting(waiting.deadline ?? agent.now())))
    return "released";
  const now = writer.state.run;
  if (now?.phase !== "tools" || now.pendingCount > 0 || writer.state.stop === now.runId) return context;
  const outcomes = known ?? (await readOutcomes(agent, writer.sessionKey, now, toolCallsOf(reply)));
  return continueWithResults(agent, writer, { run: now, messages, reply, outcomes }, context);
}

/**
 * Takes up calls that an earlier invocation began, with a deadline of their own. Without a crash all of them are done:
 * those of the gateway before the session was let go, those of nodes since. @returns their outcomes, if all are known
 */
async function resumeCalls(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  reply: AssistantMessage,
): Promise<Outcomes | undefined> {
  const outcomes = await readOutcomes(agent, writer.sessionKey, run, toolCallsOf(reply));
  const timedOut = new Set(run.timedOut ?? []);
  const open = toolCallsOf(reply).filter((call) => !outcomes.has(call.id) && !timedOut.has(call.id));
  if (open.length === 0) return outcomes;
  const { sessionKey } = writer;
  const attempt = run.attempt + 1;
  log("run.resume", { sessionKey, runId: run.runId, attempt });
  if (attempt > maxCallAttempts) {
    await giveUp(agent, writer, run);
    return undefined;
  }
  const { timeouts } = await agent.configuration.load();
  const deadline = callsDeadline(run, run.pending, timeouts.toolMs, agent.now());
  const state = await writer.commit([set(["run", "attempt"], attempt), set(["run", "deadline"], deadline)]);
  if (!state.run || state.stop === run.runId) return undefined;
  if (state.run.pendingCount > 0) await scheduleTimeout(agent, sessionKey, state.run);
  const turn = await loadContext(agent, state, state.run, readPeers(agent).nodes);
  const planned = await planCalls(agent, sessionKey, turn, run, reply, open);
  await carryOutCalls(agent, writer, turn, state.run, planned);
  return undefined;
}

interface CollectedCalls {
  run: Run;
  messages: readonly Message[];
  /** The reply that made the calls, the last of `messages`. */
  reply: AssistantMessage;
  outcomes: Outcomes;
}

/** Puts the results of all calls into the transcript, while the model is being called with them. */
async function continueWithResults(
  agent: Agent,
  writer: SessionWriter,
  { run, messages, reply, outcomes }: CollectedCalls,
  { prefetched, ...context }: StepContext,
): Promise<StepContext> {
  const { sessionKey } = writer;
  const results = toResultMessages(run, toolCallsOf(reply), outcomes, agent.now());
  const next = nextStep(run, sendsOf(reply).length);
  const commit = (more: readonly Step[] = []) => {
    const due = [set("duePk", duePartition), set("dueAt", agent.now())];
    return writer.append(results, [assign("run", next), ...due, ...more]);
  };
  const peers = takePrefetched(agent, prefetched, agent.now() - freshPeersMs);
  const announced = announceResults(agent, sessionKey, run.runId, reply, results, peers.clients).catch(
    unannounced(sessionKey, run.runId),
  );
  const step = { run: next, messages: [...messages, ...results], peers, commit };
  const left = await modelStep(agent, writer, step, context);
  await announced;
  return left;
}
