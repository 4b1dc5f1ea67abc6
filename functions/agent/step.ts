import { recordRunning } from "../../shared/cron/run-history.ts";
import { mediaBlocks, userContent } from "../../shared/media/media-content.ts";
import { type AssistantMessage, type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { type Outcomes, readOutcomes, scheduleTimeout } from "../../shared/session/calls.ts";
import { listSteps } from "../../shared/session/due.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import {
  answered,
  newRun,
  nextStep,
  type Run,
  shrinkSteps,
  triedAgain,
  waitingFor,
} from "../../shared/session/run.ts";
import { spendingOf, spendingStep } from "../../shared/session/spending.ts";
import { assign, metaKey } from "../../shared/session/state.ts";
import { type Step, set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { receiveAttachments } from "./attachments.ts";
import { compactionSteps } from "./compaction/compaction.ts";
import { type ConnectedPeers, freshPeersMs } from "./context/connected-peers.ts";
import { shrinkAfterRefusal } from "./context/context-fit.ts";
import { sizeSteps } from "./context/context-size.ts";
import {
  loadContext,
  messageOrigin,
  newTail,
  type Prepared,
  plainTail,
  replyContext,
  withTail,
} from "./context/model-request.ts";
import { withCallIds } from "./model/call-ids.ts";
import {
  type AskedModel,
  askModel,
  callsDeadline,
  type ModelCallPlan,
  prepareCall,
  type Uncalled,
} from "./model-step.ts";
import { announce, failRun, failurePlan, unannounced } from "./reply/delivery.ts";
import { runOf, type SessionWriter } from "./session-writer.ts";
import { notSentIn } from "./tools/send-limit.ts";
import { carryOutCalls, pendingCalls, planCalls } from "./tools/tool-calls.ts";
import { announceResults, toResultMessages } from "./tools/tool-results.ts";

/** A model step that was started this often fails its run: something in it kills the function. The commit counts the start. */
const maxAttempts = 4;

/** A run fails when its calls would be sent again more often: after a crash, or by an event that Lambda delivers twice. */
const maxCallAttempts = 8;

/** Max rounds of tool calls in a run. A run that needs more is probably in a loop. */
const maxSteps = 200;

/** Whether the session is still held after a step. */
export type Next = "continue" | "released";

/** A step of a run as data: its writes, and the model call that is made in parallel. */
export interface StepPlan {
  /** The run after the write. */
  run: Run;
  /** Messages to append to the transcript. */
  appended: readonly Message[];
  /** Changes of the session item, in the same write. */
  writes: readonly Step[];
  /** The inbox entry to remove, in the same write. */
  entry?: InboxEntry;
  /** Absent: the step only writes, and the session loop continues from the new state. */
  call?: ModelCallPlan;
}

/**
 * Plans the first step of a message's run. With attachments, these are fetched first and the step only commits the message:
 * the loop then checks whether the remaining time is enough for a model call.
 */
export async function beginRun(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  entry: Extract<InboxEntry, { kind: "message" }>,
): Promise<StepPlan> {
  const received = entry.attachments && (await receiveAttachments(agent, writer, entry));
  const now = agent.now();
  const content = userContent(entry.text, [...(entry.media ?? []).flatMap(mediaBlocks), ...(received ?? [])]);
  const message: Message = { role: "user", content, origin: messageOrigin(entry), timestamp: entry.at };
  const { configurationVersion = agent.configuration.version() } = entry;
  const run = newRun({ ...entry, configurationVersion }, received ? 0 : 1, now);
  log("run.start", { sessionKey: writer.sessionKey, runId: run.runId });
  const writes = [
    assign("run", run),
    assign("updatedAt", now),
    ...(entry.origin.kind === "channel" ? [assign("lastChannel", entry.origin)] : []),
    ...listSteps(metaKey(writer.sessionKey), now),
  ];
  const plan = { run, appended: [message], writes, entry };
  const before = await agent.history.load(writer.state);
  // The peers are read after the message arrived, so that the run is offered every node that was connected by then.
  const peersSince = entry.at;
  if (!received) return { ...plan, call: { messages: [...before, message], isNew: true, peersSince } };
  const tail = await newTail(agent, writer.state, run, before, peers.known(peersSince)).catch((error) => {
    logError("prompt.tail", error, { sessionKey: writer.sessionKey });
    return plainTail(agent, run);
  });
  return { ...plan, appended: withTail([message], tail) };
}

/** Plans a model step that has not begun, or that an earlier invocation did not finish. */
export async function resumeRun(agent: Agent, writer: SessionWriter, run: Run): Promise<StepPlan> {
  const again = triedAgain(run);
  const { sessionKey, state } = writer;
  if (run.attempt > 0) log("run.resume", { sessionKey, runId: run.runId, attempt: again.attempt });
  if (again.attempt > maxAttempts) return givenUp(agent, writer, run);
  const messages = await agent.history.load(state);
  return {
    run: again,
    appended: [],
    writes: [set(["run", "attempt"], again.attempt)],
    call: { messages, peersSince: agent.now() - freshPeersMs },
  };
}

/** Plans the model step that sends the results of all calls of `reply`, the last of `messages`. */
function continueWithResults(
  agent: Agent,
  run: Run,
  messages: readonly Message[],
  reply: AssistantMessage,
  outcomes: Outcomes,
): StepPlan & { appended: ReturnType<typeof toResultMessages> } {
  const now = agent.now();
  const results = toResultMessages(run, toolCallsOf(reply), outcomes, now);
  const next = nextStep(run, notSentIn(reply, outcomes));
  return {
    run: next,
    appended: results,
    writes: [assign("run", next)],
    call: { messages: [...messages, ...results], peersSince: now - freshPeersMs },
  };
}

/** Plans the failure of a run whose step was interrupted too often: something in it kills the function. */
function givenUp(agent: Agent, { sessionKey }: SessionWriter, run: Run): StepPlan {
  log("run.failed", { sessionKey, runId: run.runId });
  return failurePlan(agent, run, `LLM error: the turn was interrupted ${run.attempt} times`);
}

/**
 * Commits a plan while the model is being called, and applies the outcome. A crash repeats at most this step, so the model
 * may be asked twice. A commit that fails aborts the call.
 */
export async function runStep(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  plan: StepPlan,
): Promise<Next> {
  const { run, call, entry } = plan;
  const prepared = call && (await prepareCall(agent, writer.state, run, call, peers));
  const [, asked] = await Promise.all([
    commitPlan(writer, plan, prepared),
    prepared?.status === "fits" ? askModel(agent, writer, peers, run, prepared) : prepared,
    entry && recordStart(agent, run),
  ]);
  if (!asked) return "continue";
  const next = await applyOutcome(agent, writer, peers, asked);
  if ("streamed" in asked) await asked.streamed;
  return next;
}

/** Records in a job's history that its run has begun. A failure is only logged: the end is recorded, too. */
async function recordStart({ table }: Agent, { task, runId }: Run): Promise<void> {
  if (task?.kind !== "cron") return;
  await recordRunning(table, task).catch((error) => logError("cron.unrecorded", error, { runId }));
}

async function commitPlan(
  writer: SessionWriter,
  { appended, writes, entry }: StepPlan,
  prepared: Prepared | Uncalled | undefined,
): Promise<void> {
  const steps = [...writes, ...(prepared?.status === "fits" ? prepared.steps : [])];
  const shown = prepared?.tail === undefined ? appended : withTail(appended, prepared.tail);
  if (appended.length > 0) await writer.append(shown, steps, entry);
  else await writer.commit(steps);
}

/** Commits the outcome of a model call: a reply, a failure, or a smaller request that is sent next. */
async function applyOutcome(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  asked: AskedModel | Uncalled,
): Promise<Next> {
  const run = runOf(writer);
  switch (asked.status) {
    case "aborted":
      break;
    case "broken":
      // The plan's commit has counted the attempt, so a step that always fails is given up in the end.
      throw asked.error;
    case "compact":
      await writer.commit(compactionSteps(agent, writer.state, asked.cut, shrinkSteps(run, "compacted")));
      break;
    case "failed": {
      const smaller = asked.overflow ? shrinkAfterRefusal(run, asked.prepared.request) : undefined;
      if (!smaller) await fail(agent, writer, peers, asked.error);
      else if (!smaller.cut) await writer.commit(smaller.steps);
      else await writer.commit(compactionSteps(agent, writer.state, smaller.cut, smaller.steps));
      break;
    }
    case "answered":
      return applyReply(agent, writer, peers, asked);
  }
  return "continue";
}

/** Fails the run; the new read of the clients includes those that connected during the model call. */
function fail(agent: Agent, writer: SessionWriter, peers: ConnectedPeers, error: string): Promise<void> {
  peers.refreshClients();
  return failRun(agent, writer, error);
}

type Answered = Extract<AskedModel, { status: "answered" }>;

async function applyReply(
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
    await fail(agent, writer, peers, `LLM error: stopped after ${maxSteps} rounds of tool calls`);
  } else if (textOf(reply).trim() === "") {
    await fail(agent, writer, peers, emptyAnswer(reply));
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
  const planned = await planCalls(agent, sessionKey, turn, run, reply);
  const now = agent.now();
  const pending = pendingCalls(planned, now);
  const deadline = callsDeadline(run, pending, turn.configuration.timeouts.toolMs, now);
  const waiting = waitingFor(run, pending, deadline);
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
  await carryOutCalls(agent, writer, turn, waiting, planned);
  await inParallel;
  return releaseForCalls(agent, writer);
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

/**
 * Releases the session while calls of its run are pending. The last result or the deadline wakes the agent again; new
 * messages wait in the inbox.
 * @returns "continue" when all calls are answered or timed out, and when a stop arrived
 */
async function releaseForCalls(agent: Agent, writer: SessionWriter): Promise<Next> {
  for (;;) {
    const { run, stop } = writer.state;
    if (run?.phase !== "tools" || run.pendingCount === 0 || stop === run.runId) return "continue";
    if (await writer.releaseWaiting(run.deadline ?? agent.now())) return "released";
  }
}

/**
 * The step of a run whose reply called tools. An invocation that finds calls without a result or a timeout sends them
 * again: nothing wakes the agent while calls are pending, so an earlier invocation has crashed. A call whose result is
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
  const messages = await agent.history.load(writer.state);
  const reply = messages.at(-1);
  if (reply?.role !== "assistant") {
    await fail(
      agent,
      writer,
      peers,
      "LLM error: the tool calls of this turn are missing from the transcript",
    );
    return "continue";
  }
  const outcomes = await readOutcomes(agent, sessionKey, run, toolCallsOf(reply));
  const timedOut = new Set(run.timedOut ?? []);
  const open = toolCallsOf(reply).filter((call) => !outcomes.has(call.id) && !timedOut.has(call.id));
  if (open.length > 0) return resumeCalls(agent, writer, peers, run, reply, open);
  if (run.pendingCount > 0) return releaseForCalls(agent, writer);
  const plan = continueWithResults(agent, run, messages, reply, outcomes);
  const clients = peers.clients(agent.now() - freshPeersMs);
  const [next] = await Promise.all([
    runStep(agent, writer, peers, plan),
    announceResults(agent, sessionKey, run.runId, reply, plan.appended, clients).catch(
      unannounced(sessionKey, run.runId),
    ),
  ]);
  return next;
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
  const attempt = run.attempt + 1;
  log("run.resume", { sessionKey, runId: run.runId, attempt });
  if (attempt > maxCallAttempts) return runStep(agent, writer, peers, givenUp(agent, writer, run));
  const { timeouts } = await agent.configuration.load();
  const deadline = callsDeadline(run, run.pending, timeouts.toolMs, agent.now());
  const state = await writer.commit([set(["run", "attempt"], attempt), set(["run", "deadline"], deadline)]);
  if (!state.run || state.stop === run.runId) return "continue";
  if (state.run.pendingCount > 0) await scheduleTimeout(agent, sessionKey, state.run);
  const nodes = peers.known(agent.now() - freshPeersMs);
  const turn = await loadContext(agent, state, state.run, nodes);
  const planned = await planCalls(agent, sessionKey, turn, run, reply, open);
  await carryOutCalls(agent, writer, turn, state.run, planned);
  return releaseForCalls(agent, writer);
}
