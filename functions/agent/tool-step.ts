import { type AssistantMessage, type Message, toolCallsOf } from "../../shared/protocol/messages.ts";
import { type Outcomes, readOutcomes, scheduleTimeout } from "../../shared/session/calls.ts";
import { havingRead, isSent, nextStep, type Run, startSteps, tasksOf } from "../../shared/session/run.ts";
import { assign } from "../../shared/session/state.ts";
import { isSetAside, requestsOf, waitingRequests } from "../../shared/session/waiting.ts";
import { set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { type ConnectedPeers, freshPeersMs } from "./context/connected-peers.ts";
import { loadContext } from "./context/model-request.ts";
import { limitStep } from "./limit-step.ts";
import { foundAfter } from "./mcp/offer-tools.ts";
import { callsDeadline } from "./model-step.ts";
import { unannounced } from "./reply/delivery.ts";
import { failStep, releaseForCalls } from "./reply-step.ts";
import type { Next, SessionWriter } from "./session-writer.ts";
import { runStep, type StepPlan, startAgain } from "./step.ts";
import { actOnAnswers } from "./tools/act-on-answers.ts";
import { askOwner, closeUnanswered } from "./tools/ask-owner.ts";
import { decideAgain, requestAgain } from "./tools/decide.ts";
import { recordDecisions } from "./tools/record-decisions.ts";
import { notSentIn } from "./tools/send-limit.ts";
import { carryOutCalls, planCalls } from "./tools/tool-calls.ts";
import { announceResults, originsOfResults, toResultMessages } from "./tools/tool-results.ts";

/** Plans the model step that sends the results of all calls of `reply`, the last of `messages`. */
function continueWithResults(
  agent: Agent,
  run: Run,
  messages: readonly Message[],
  reply: AssistantMessage,
  outcomes: Outcomes,
  foundTools: readonly string[] = [],
): StepPlan & { appended: ReturnType<typeof toResultMessages> } {
  const now = agent.now();
  const results = toResultMessages(run, toolCallsOf(reply), outcomes, now);
  const found = foundAfter(foundTools, reply, outcomes);
  const next = havingRead(nextStep(run, notSentIn(reply, outcomes)), originsOfResults(reply, outcomes));
  return {
    run: next,
    appended: results,
    writes: found === foundTools ? [] : [assign("foundTools", [...found])],
    call: { messages: [...messages, ...results], peersSince: now - freshPeersMs },
  };
}

/**
 * The step of a run whose reply called tools. An invocation that finds calls without a result or a timeout sends them
 * again, unless an earlier one has sent them all: then this one was woken for nothing. A call whose result is
 * stored but still counts as pending is left to the node's repeated result. When all calls are done, the model gets the
 * results.
 */
export async function toolStep(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
): Promise<Next> {
  const { sessionKey } = writer;
  if (run.limit) return limitStep(agent, writer, peers, run, run.limit);
  const messages = await agent.history.load(writer.state);
  const reply = messages.at(-1);
  if (reply?.role !== "assistant") {
    await failStep(
      agent,
      writer,
      peers,
      "LLM error: the tool calls of this turn are missing from the transcript",
    );
    return "continue";
  }
  if ((run.decided ?? 0) > 0 || isSetAside(writer.state)) {
    await actOnAnswers(agent, writer, peers, run, reply);
    return "continue";
  }
  if (writer.untold.size > 0) {
    writer.untold.clear();
    await askAgain(agent, writer, peers, run, reply);
    return releaseForCalls(writer);
  }
  const outcomes = await readOutcomes(agent, sessionKey, run, toolCallsOf(reply));
  const over = new Set([...(run.timedOut ?? []), ...requestsOf(run).map(({ callId }) => callId)]);
  const open = toolCallsOf(reply).filter((call) => !outcomes.has(call.id) && !over.has(call.id));
  const isWaiting = run.pendingCount > 0;
  if (open.length > 0 && !(isWaiting && isSent(run)))
    return startAgain(agent, writer, peers, run, (again) =>
      resumeCalls(agent, writer, peers, again, reply, open),
    );
  if (isWaiting) {
    if (tasksOf(run).length > 0) {
      const { pollRemote } = await import("./mcp/remote-calls.ts");
      await pollRemote(agent, writer, run);
    }
    await askAgain(agent, writer, peers, run, reply);
    return releaseForCalls(writer);
  }
  const continued = continueWithResults(agent, run, messages, reply, outcomes, writer.state.foundTools);
  const record = () => recordDecisions(agent, sessionKey, run, reply, continued.appended);
  const plan = { ...continued, record };
  const clients = peers.clients(agent.now() - freshPeersMs);
  const [next] = await Promise.all([
    runStep(agent, writer, peers, plan),
    announceResults(agent, sessionKey, run.runId, reply, plan.appended, clients).catch(
      unannounced(sessionKey, run.runId),
    ),
    closeUnanswered(agent, run, outcomes).catch(unannounced(sessionKey, run.runId)),
  ]);
  return next;
}

/** Shows the requests that wait again: the agent was woken for a reminder or for another answer, or it has crashed. */
async function askAgain(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  reply: AssistantMessage,
): Promise<void> {
  const waiting = waitingRequests(run);
  if (waiting.length === 0) return;
  const { sessionKey, state } = writer;
  const turn = await loadContext(agent, state, run, peers.known(agent.now() - freshPeersMs));
  const where = { ...state, run };
  const requests = toolCallsOf(reply).map((call) => {
    const one = waiting.find(({ callId }) => callId === call.id);
    return one && requestAgain(turn, where, call, one.approval);
  });
  await scheduleTimeout(agent, sessionKey, run);
  await askOwner(
    agent,
    turn,
    (await Promise.all(requests)).filter((one) => one !== undefined),
    peers,
    run,
  );
}

/**
 * Carries out again what an earlier invocation did not finish, under the same call ids: a node runs an id once. The new
 * deadline gets a schedule of its own; the earlier schedule finds another deadline and does nothing.
 */
async function resumeCalls(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  reply: AssistantMessage,
  open: ReturnType<typeof toolCallsOf>,
): Promise<Next> {
  const { sessionKey } = writer;
  const { timeouts } = await agent.configuration.load();
  const deadline = callsDeadline(run, run.pending, timeouts.toolMs, agent.now());
  const state = await writer.commit([...startSteps(run), set(["run", "deadline"], deadline)]);
  if (!state.run || state.stop === run.runId) return "continue";
  if (state.run.pendingCount > 0) await scheduleTimeout(agent, sessionKey, state.run);
  const nodes = peers.known(agent.now() - freshPeersMs);
  const turn = await loadContext(agent, state, state.run, nodes);
  const planned = await decideAgain(
    agent,
    turn,
    { ...state, run: state.run },
    await planCalls(agent, sessionKey, turn, run, reply, open),
    await agent.history.load(state),
  );
  // The earlier invocation may have shown no request, or sent no call.
  await Promise.all([
    askAgain(agent, writer, peers, state.run, reply),
    carryOutCalls(agent, writer, turn, state.run, planned),
  ]);
  return releaseForCalls(writer);
}
