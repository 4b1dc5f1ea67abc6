import { createHash } from "node:crypto";
import { mediaBlocks, userContent } from "../../shared/media/media-content.ts";
import { type AssistantMessage, type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import { log } from "../../shared/runtime/log.ts";
import { type Outcomes, readOutcomes } from "../../shared/session/calls.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import type { Run } from "../../shared/session/run.ts";
import { sessionPartition } from "../../shared/session/state.ts";
import { writeMessages } from "../../shared/session/transcript.ts";
import { type Step, set } from "../../shared/world/expression.ts";
import type { ItemValue } from "../../shared/world/world.ts";
import type { Agent } from "./agent.ts";
import { receiveAttachments } from "./attachments.ts";
import { beginCompaction } from "./compaction/compaction.ts";
import { loadContext, type TurnContext } from "./context/context.ts";
import { planCut } from "./context/context-fit.ts";
import { againAfterRefusal, againSmaller, sizeSteps } from "./context/context-steps.ts";
import { lookAround, type Surroundings, surroundingsSince } from "./context/peers.ts";
import type { Hold } from "./hold.ts";
import { askModel, type Prepared, prepareRequest } from "./model/ask-model.ts";
import { withUniqueCallIds } from "./model/call-ids.ts";
import type { ModelOutcome } from "./model/model.ts";
import { announce, failRun, unannounced } from "./reply/delivery.ts";
import {
  announceResults,
  type CollectedResults,
  carryOut,
  collectResults,
  pendingCalls,
  planCalls,
} from "./tools/tool-phase.ts";

/** A step that crashed this often is not tried again: something in it kills the function. */
const maxAttempts = 4;

/** Calls that were taken up this often are given up with the run; a repeated event counts too. */
const maxCallAttempts = 8;

/** A run that calls tools this many times in a row is ended: it is going in circles. */
const maxSteps = 200;

/** When results are collected, who is connected counts as known for this long. Milliseconds. */
const resultsFreshMs = 1000;

/** Begins the run of a message: the user's message is committed while the model is called already. */
export async function beginRun(
  agent: Agent,
  hold: Hold,
  entry: Extract<InboxEntry, { kind: "message" }>,
): Promise<void> {
  const received = await receiveAttachments(agent, hold, entry);
  const { state } = hold;
  const now = agent.now();
  const content = userContent(entry.text, [...(entry.media ?? []).flatMap(mediaBlocks), ...received]);
  const message: Message = { role: "user", content, timestamp: entry.at };
  const run: Run = {
    runId: entry.id,
    phase: "model",
    step: 0,
    attempt: entry.attachments ? 0 : 1,
    startedAt: now,
    origin: entry.origin,
    ...(entry.overrides ? { overrides: entry.overrides } : {}),
    pending: {},
    pendingCount: 0,
  };
  log("run.start", { sessionKey: hold.sessionKey, runId: run.runId });
  const before = await agent.history.load(state);
  const commit = async () => {
    await writeMessages(agent, hold.lease, state.sessionId, state.head + 1, [message]);
    await hold.commitEntry(entry, [
      set("head", state.head + 1),
      set("run", run as unknown as ItemValue),
      set("updatedAt", now),
      ...(entry.origin.kind === "channel" ? [set("lastChannel", entry.origin as unknown as ItemValue)] : []),
      set("listPk", sessionPartition),
      set("listSk", now),
    ]);
    agent.history.extend(hold.state, [message]);
  };
  // What was fetched is committed before the model is called, as a step of its own: the time that is left is looked at.
  if (entry.attachments) return commit();
  // A node that was there before the message came is offered to its run.
  const around = surroundingsSince(agent, hold, entry.at);
  await modelStep(agent, hold, run, [...before, message], commit, around);
}

/** Takes up a model step that was not begun yet, or that an earlier invocation did not finish. */
export async function resumeModel(agent: Agent, hold: Hold, run: Run): Promise<void> {
  const again: Run = { ...run, attempt: run.attempt + 1 };
  if (run.attempt > 0)
    log("run.resume", { sessionKey: hold.sessionKey, runId: run.runId, attempt: again.attempt });
  if (again.attempt > maxAttempts) {
    return giveUp(agent, hold, run);
  }
  const messages = await agent.history.load(hold.state);
  const commit = async () => void (await hold.commit([set(["run", "attempt"], again.attempt)]));
  await modelStep(agent, hold, again, messages, commit, lookAround(agent));
}

/**
 * Waits for the tools of a run, or takes their results and goes on.
 * @returns true when the session was let go to wait
 */
export async function toolsStep(agent: Agent, hold: Hold, run: Run): Promise<boolean> {
  const messages = await agent.history.load(hold.state);
  const reply = messages.at(-1);
  if (reply?.role !== "assistant") {
    await failRun(agent, hold, "LLM error: the calls that this turn waits for are missing");
    return false;
  }
  const known = hold.carriedOut === stepName(run) ? undefined : await resumeCalls(agent, hold, run, reply);
  const waiting = hold.state.run;
  if (waiting?.phase !== "tools") return false;
  if (waiting.pendingCount > 0 && (await hold.releaseWaiting(waiting.deadline ?? agent.now()))) return true;
  const now = hold.state.run;
  if (now?.phase === "tools" && now.pendingCount === 0 && hold.state.stop !== now.runId) {
    const outcomes = known ?? (await readOutcomes(agent, hold.sessionKey, now, toolCallsOf(reply)));
    await continueWithResults(agent, hold, now, messages, collectResults(agent, hold, now, reply, outcomes));
  }
  return false;
}

/**
 * Takes up calls that an earlier invocation began, with a deadline of their own. Without a crash all of them are done:
 * those of the gateway before the session was let go, those of nodes since. @returns their outcomes, if all are known
 */
async function resumeCalls(
  agent: Agent,
  hold: Hold,
  run: Run,
  reply: AssistantMessage,
): Promise<Outcomes | undefined> {
  const outcomes = await readOutcomes(agent, hold.sessionKey, run, toolCallsOf(reply));
  const timedOut = new Set(run.timedOut ?? []);
  const open = toolCallsOf(reply).filter((call) => !outcomes.has(call.id) && !timedOut.has(call.id));
  if (open.length === 0) return outcomes;
  const { sessionKey } = hold;
  const attempt = run.attempt + 1;
  log("run.resume", { sessionKey, runId: run.runId, attempt });
  if (attempt > maxCallAttempts) {
    await giveUp(agent, hold, run);
    return undefined;
  }
  const { timeouts } = await agent.configuration.load();
  const deadline = agent.now() + timeouts.toolMs;
  const state = await hold.commit([set(["run", "attempt"], attempt), set(["run", "deadline"], deadline)]);
  if (!state.run || state.stop === run.runId) return undefined;
  if (state.run.pendingCount > 0) await scheduleTimeout(agent, sessionKey, state.run);
  const turn = await loadContext(agent, state, state.run, lookAround(agent).nodes);
  await carryOut(agent, hold, turn, state.run, await planCalls(agent, hold, turn, run, reply, open));
  return undefined;
}

/** Something in the step kills the function: the run ends with an error. */
function giveUp(agent: Agent, hold: Hold, { attempt }: Run): Promise<void> {
  return failRun(agent, hold, `LLM error: the turn was interrupted ${attempt} times`);
}

/** Names a step of a run. */
function stepName(run: Run): string {
  return `${run.runId}/${run.step}`;
}

async function continueWithResults(
  agent: Agent,
  hold: Hold,
  run: Run,
  messages: readonly Message[],
  collected: CollectedResults,
): Promise<void> {
  const around = surroundingsSince(agent, hold, agent.now() - resultsFreshMs);
  const told = announceResults(agent, hold.sessionKey, run.runId, collected, around.clients);
  const announced = told.catch(unannounced(hold, run.runId));
  await modelStep(agent, hold, collected.run, [...messages, ...collected.messages], collected.commit, around);
  await announced;
}

/** One model call and what follows from it. `commit` writes what led to it, at the same time as the model is called. */
async function modelStep(
  agent: Agent,
  hold: Hold,
  run: Run,
  messages: readonly Message[],
  commit: () => Promise<void>,
  around: Surroundings,
): Promise<void> {
  const prepared = await prepareRequest(agent, hold.state, run, messages, around).catch(
    async (error: unknown) => {
      // A step that fails counts as tried, so that one which always fails comes to an end.
      await commit();
      throw error;
    },
  );
  if (prepared.status !== "fits") {
    await commit();
    if (prepared.status === "too long") return failRun(agent, hold, prepared.error);
    return beginCompaction(agent, hold, prepared, againSmaller(run, "compacted"));
  }
  const lost = new AbortController();
  const committed = commit().catch((error: unknown) => {
    lost.abort();
    throw error;
  });
  const called = askModel(agent, hold, run, prepared, lost.signal);
  const [, { outcome, streamed }] = await Promise.all([committed, called]);
  const listeners = Promise.all([agent.broadcast.clients(), streamed]);
  hold.listeners = listeners.then(([clients]) => clients);
  hold.listeners.catch(() => {});
  await takeOutcome(agent, hold, run, prepared, outcome, messages);
}

async function takeOutcome(
  agent: Agent,
  hold: Hold,
  run: Run,
  { request, turn }: Prepared,
  outcome: ModelOutcome,
  messages: readonly Message[],
): Promise<void> {
  if (outcome.status === "aborted") return;
  if (outcome.status === "failed") {
    const steps = outcome.overflow && againAfterRefusal(run, request);
    if (!steps) return failRun(agent, hold, outcome.error);
    const cut = planCut(request, true);
    return cut ? beginCompaction(agent, hold, cut, steps) : void (await hold.commit(steps));
  }
  const reply = withUniqueCallIds(outcome.message, messages);
  const calls = toolCallsOf(reply);
  if (calls.length === 0 && textOf(reply).trim() === "")
    return failRun(agent, hold, "LLM returned empty response");
  const size = sizeSteps(reply, request);
  if (calls.length === 0) return commitReply(agent, hold, run, reply, size);
  if (run.step >= maxSteps)
    return failRun(agent, hold, `LLM error: stopped after ${maxSteps} rounds of tool calls`);
  await commitCalls(agent, hold, run, reply, turn, size);
}

/** Commits a reply that calls tools, starts them, and tells clients what the model said on the way. */
async function commitCalls(
  agent: Agent,
  hold: Hold,
  run: Run,
  reply: AssistantMessage,
  turn: TurnContext,
  size: Step[],
): Promise<void> {
  const planned = await planCalls(agent, hold, turn, run, reply);
  const pending = pendingCalls(planned);
  const waiting: Run = {
    ...run,
    phase: "tools",
    attempt: 1,
    pending,
    pendingCount: Object.keys(pending).length,
    results: {},
    resultBytes: 0,
    deadline: agent.now() + turn.configuration.timeouts.toolMs,
  };
  await commitMessage(agent, hold, reply, [...size, set("run", waiting as unknown as ItemValue)]);
  // A stop has come while the model answered.
  if (hold.state.stop === run.runId) return;
  // Not before the commit: a timeout that came ahead of it would find nothing to end, and there is no second one.
  const beside = Promise.all([
    waiting.pendingCount > 0 ? scheduleTimeout(agent, hold.sessionKey, waiting) : undefined,
    announce(agent, hold, run.runId, textOf(reply) === "" ? "calls" : "partial", reply).catch(
      unannounced(hold, run.runId),
    ),
  ]);
  beside.catch(() => {});
  await carryOut(agent, hold, turn, waiting, planned);
  await beside;
  hold.carriedOut = stepName(waiting);
}

/** Commits the answer. It is delivered as a step of its own, so that a crash in between does not lose it. */
async function commitReply(
  agent: Agent,
  hold: Hold,
  run: Run,
  reply: AssistantMessage,
  size: Step[],
): Promise<void> {
  const answered: Run = { ...run, phase: "reply", attempt: 1 };
  await commitMessage(agent, hold, reply, [...size, set("run", answered as unknown as ItemValue)]);
}

async function commitMessage(
  agent: Agent,
  hold: Hold,
  reply: AssistantMessage,
  steps: Step[],
): Promise<void> {
  const { sessionId, head, tokens } = hold.state;
  const usage = reply.usage;
  const counted: Step[] = [];
  if (usage) {
    const input = tokens.input + usage.input + usage.cacheRead + usage.cacheWrite;
    const output = tokens.output + usage.output;
    counted.push(set("tokens", { input, output, total: input + output }));
  }
  await writeMessages(agent, hold.lease, sessionId, head + 1, [reply]);
  await hold.commit([set("head", head + 1), ...counted, ...steps]);
  agent.history.extend(hold.state, [reply]);
}

/** One schedule for the batch; its name makes a repeat the same schedule. */
async function scheduleTimeout(agent: Agent, sessionKey: string, run: Run): Promise<void> {
  if (run.deadline === undefined) return;
  const { runId, step, deadline } = run;
  const name = `${sessionKey}\n${runId}\n${step}\n${deadline}`;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 40);
  const event = { kind: "tool-timeout", sessionKey, runId, step, deadline } as const;
  await agent.schedules.once(`tools-${digest}`, deadline, event);
}
