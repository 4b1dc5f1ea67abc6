import { type AssistantMessage, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import { logError } from "../../shared/runtime/log.ts";
import { scheduleTimeout } from "../../shared/session/calls.ts";
import { answered, waitingFor } from "../../shared/session/run.ts";
import { spendingOf, spendingStep } from "../../shared/session/spending.ts";
import { assign } from "../../shared/session/state.ts";
import { isSetAside, waitingRequests } from "../../shared/session/waiting.ts";
import type { Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { type ConnectedPeers, freshPeersMs } from "./context/connected-peers.ts";
import { sizeSteps } from "./context/context-size.ts";
import { type Prepared, replyContext } from "./context/model-request.ts";
import { withCallIds } from "./model/call-ids.ts";
import { type AskedModel, callsDeadline } from "./model-step.ts";
import { announce, failRun, unannounced } from "./reply/delivery.ts";
import { type Next, runOf, type SessionWriter } from "./session-writer.ts";
import { askOwner } from "./tools/ask-owner.ts";
import { decideCalls } from "./tools/decide.ts";
import { endCalls } from "./tools/ended-calls.ts";
import { carryOutCalls, decisionsOf, pendingCalls, planCalls, refusedResults } from "./tools/tool-calls.ts";

/** Max rounds of tool calls in a run. A run that needs more is probably in a loop. */
const maxSteps = 200;

/**
 * Fails the run, and ends its calls. The new read of the clients includes those that connected during the model call.
 */
export async function failStep(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  error: string,
): Promise<void> {
  peers.refreshClients();
  const nodes = () => peers.nodes(agent.now() - freshPeersMs);
  const ended = await endCalls(agent, writer, runOf(writer), "given up", nodes);
  await failRun(agent, writer, error, { ended });
}

type Answered = Extract<AskedModel, { status: "answered" }>;

/** Commits the model's reply: an answer, tool calls that are carried out, or a failure. */
export async function applyReply(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  asked: Answered,
): Promise<Next> {
  const run = runOf(writer);
  const { prepared } = asked;
  const identified = withCallIds(asked.message, prepared.request.messages, agent.now());
  const reply = { ...identified, context: replyContext(prepared) };
  if (toolCallsOf(reply).length > 0) {
    if (run.step < maxSteps) return applyCalls(agent, writer, peers, asked, reply);
    await failStep(agent, writer, peers, `LLM error: stopped after ${maxSteps} rounds of tool calls`);
  } else if (textOf(reply).trim() === "") {
    await failStep(agent, writer, peers, emptyAnswer(reply));
  } else {
    // The loop delivers the answer next. The new read includes clients that connected during the model call.
    peers.refreshClients();
    const steps = [...replySteps(agent, writer, prepared, reply), assign("run", answered(run))];
    await writer.append([reply], steps);
  }
  return "continue";
}

function emptyAnswer({ stopReason, usage, content }: AssistantMessage): string {
  if (stopReason !== "length") return "LLM returned empty response";
  const limit = usage?.output ? `its limit of ${usage.output} output tokens` : "its limit of output tokens";
  const isThinking = content.some((block) => block.type === "thinking");
  return `LLM error: the model reached ${limit} ${isThinking ? "while it was still thinking" : "before it wrote any text"}; raise model.maxTokens, or lower the thinking level`;
}

/** Commits a reply with tool calls, executes the calls, and announces the reply to clients. */
async function applyCalls(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  { prepared, streamed }: Answered,
  reply: AssistantMessage,
): Promise<Next> {
  const run = runOf(writer);
  const { sessionKey } = writer;
  const { turn } = prepared;
  const where = { ...writer.state, run };
  const calls = await planCalls(agent, sessionKey, turn, run, reply);
  const planned = await decideCalls(agent, turn, where, calls, prepared.request.messages);
  const now = agent.now();
  const pending = pendingCalls(planned, now);
  const deadline = callsDeadline(run, pending, turn.configuration.timeouts.toolMs, now);
  const waiting = waitingFor(run, pending, deadline, refusedResults(planned), decisionsOf(planned, now));
  await writer.append([reply], [...replySteps(agent, writer, prepared, reply), assign("run", waiting)]);
  // The user stopped the run while the model answered.
  if (writer.state.stop === run.runId) return "continue";
  const announced = async () => {
    await streamed;
    const clients = await peers.clients(now - freshPeersMs);
    await announce(agent, sessionKey, run.runId, textOf(reply) === "" ? "calls" : "partial", reply, clients);
  };
  // After the commit: a schedule that fired before it would find nothing to end, and only the sweep would end the calls.
  const inParallel = Promise.all([
    waiting.pendingCount > 0 ? scheduleTimeout(agent, sessionKey, waiting) : undefined,
    announced().catch(unannounced(sessionKey, run.runId)),
  ]);
  inParallel.catch(() => {});
  const asked = askOwner(
    agent,
    turn,
    planned.flatMap((one) => (one.by === "owner" ? [one.request] : [])),
    peers,
    waiting,
  );
  asked.catch(() => {});
  await carryOutCalls(agent, writer, turn, waiting, planned);
  await Promise.all([inParallel, asked]);
  return releaseForCalls(writer);
}

/** Changes that go with every reply: tokens, spending, the measured size, and the prompt that it was made from. */
function replySteps(
  agent: Agent,
  { state }: SessionWriter,
  { turn, request }: Prepared,
  reply: AssistantMessage,
): Step[] {
  const { usage } = reply;
  const occasion = {
    runId: state.run?.runId,
    now: agent.now(),
    timezone: turn.configuration.userTimezone,
  };
  const input = state.tokens.input + (usage ? usage.input + usage.cacheRead + usage.cacheWrite : 0);
  const output = state.tokens.output + (usage?.output ?? 0);
  return [
    ...(usage ? [assign("tokens", { input, output, total: input + output })] : []),
    spendingStep(state, spendingOf(usage), occasion),
    ...sizeSteps(reply, request),
    ...agent.promptCache.steps(state, turn.agentId, turn.prompt),
  ];
}

/** The owner may answer after a day: until then the day's item shows what was spent, not what was reserved. Does not reject. */
async function settleBeforeWait({ account, state, sessionKey }: SessionWriter): Promise<void> {
  if (waitingRequests(state.run).length === 0) return;
  await account.settle().catch((error: unknown) => logError("budget.settle", error, { sessionKey }));
}

/**
 * Releases the session while calls of its run are pending. The last result or the deadline wakes the agent again; new
 * messages wait in the inbox.
 * @returns "continue" when all calls are answered or timed out, and when a stop or the owner's answer arrived
 */
export async function releaseForCalls(writer: SessionWriter): Promise<Next> {
  await settleBeforeWait(writer);
  for (;;) {
    const { run, stop } = writer.state;
    if (run?.phase !== "tools" || run.pendingCount === 0 || stop === run.runId) return "continue";
    if ((run.decided ?? 0) > 0 || isSetAside(writer.state) || writer.untold.size > 0) return "continue";
    if (await writer.releaseWaiting(run)) return "released";
  }
}
