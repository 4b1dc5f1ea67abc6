import type { ContentBlock } from "../../shared/media/media-content.ts";
import { mediaBlocks, userContent } from "../../shared/media/media-content.ts";
import { type Message, toolCallsOf } from "../../shared/protocol/messages.ts";
import { log } from "../../shared/runtime/log.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { newRun, type Run, shrinkSteps, triedAgain } from "../../shared/session/run.ts";
import { assign, sessionPartition } from "../../shared/session/state.ts";
import { repairTranscript } from "../../shared/wire/repair-transcript.ts";
import { type Step, set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { receiveAttachments } from "./attachments.ts";
import { beginCompaction } from "./compaction/compaction.ts";
import { type ConnectedPeers, readPeers, takePrefetched } from "./context/connected-peers.ts";
import { type Prepared, prepareRequest } from "./context/model-request.ts";
import { originOf } from "./context/provenance.ts";
import type { ModelOutcome } from "./model/model-call.ts";
import { takeOutcome } from "./model-outcome.ts";
import { failRun, giveUp } from "./reply/delivery.ts";
import { type Deltas, streamDeltas } from "./reply/deltas.ts";
import { runOf, type SessionWriter } from "./session-writer.ts";
import type { StepContext } from "./step-context.ts";
import { timeLeft, timeOverText } from "./time-limit.ts";
import { whileTyping } from "./typing.ts";

/** A step that crashed this often is not tried again: something in it kills the function. */
const maxAttempts = 4;

type MessageEntry = Extract<InboxEntry, { kind: "message" }>;

/** What a model call is made with, and the write that led to it. */
export interface ModelStep {
  run: Run;
  /** The transcript with the messages that `commit` writes. */
  messages: readonly Message[];
  peers: ConnectedPeers;
  /** Writes the run and the newest messages, while the model is being called, and `more`. @throws LeaseLost */
  commit(more?: readonly Step[]): Promise<unknown>;
}

/** Begins the run of a message: the user's message is committed while the model is called already. */
export async function beginRun(
  agent: Agent,
  writer: SessionWriter,
  entry: MessageEntry,
  { prefetched, ...context }: StepContext,
): Promise<StepContext> {
  const { run, message, steps } = startOf(agent, entry, [], 1);
  log("run.start", { sessionKey: writer.sessionKey, runId: run.runId });
  const before = await agent.history.load(writer.state);
  const commit = (more: readonly Step[] = []) => writer.append([message], [...steps, ...more], entry);
  // A node that was connected before the message came is offered to its run.
  const peers = takePrefetched(agent, prefetched, entry.at);
  return modelStep(agent, writer, { run, messages: [...before, message], peers, commit }, context);
}

/**
 * Begins the run of a message that came with attachments. They are fetched and committed in a step of their own: before
 * the model is called, the session loop checks whether the time that is left is enough.
 */
export async function beginRunWithAttachments(
  agent: Agent,
  writer: SessionWriter,
  entry: MessageEntry,
): Promise<void> {
  const received = await receiveAttachments(agent, writer, entry);
  const { run, message, steps } = startOf(agent, entry, received, 0);
  log("run.start", { sessionKey: writer.sessionKey, runId: run.runId });
  await writer.append([message], steps, entry);
}

/** The user's message, the run that it begins, and the steps that write the run into the session. */
function startOf(agent: Agent, entry: MessageEntry, received: readonly ContentBlock[], attempt: 0 | 1) {
  const now = agent.now();
  const content = userContent(entry.text, [...(entry.media ?? []).flatMap(mediaBlocks), ...received]);
  const message: Message = { role: "user", content, origin: originOf(entry), timestamp: entry.at };
  const { configurationVersion = agent.configuration.version() } = entry;
  const run = newRun({ ...entry, configurationVersion }, attempt, now);
  const steps: Step[] = [
    assign("run", run),
    assign("updatedAt", now),
    ...(entry.origin.kind === "channel" ? [assign("lastChannel", entry.origin)] : []),
    set("listPk", sessionPartition),
    set("listSk", now),
  ];
  return { run, message, steps };
}

/** Takes up a model step that was not begun yet, or that an earlier invocation did not finish. */
export async function resumeRun(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  context: StepContext,
): Promise<StepContext> {
  const again = triedAgain(run);
  if (run.attempt > 0)
    log("run.resume", { sessionKey: writer.sessionKey, runId: run.runId, attempt: again.attempt });
  if (again.attempt > maxAttempts) {
    await giveUp(agent, writer, run);
    return context;
  }
  const messages = await agent.history.load(writer.state);
  const commit = (more: readonly Step[] = []) =>
    writer.commit([set(["run", "attempt"], again.attempt), ...more]);
  return modelStep(agent, writer, { run: again, messages, peers: readPeers(agent), commit }, context);
}

/** One model call and what follows from it. The write that led to it is made while the model is being called. */
export async function modelStep(
  agent: Agent,
  writer: SessionWriter,
  { run, messages, peers, commit }: ModelStep,
  context: StepContext,
): Promise<StepContext> {
  const prepared = await prepareRequest(agent, writer.state, run, messages, peers.nodes).catch(
    async (error: unknown) => {
      // A step that fails counts as tried, so that one which always fails comes to an end.
      await commit();
      throw error;
    },
  );
  if (prepared.status !== "fits") {
    await commit();
    if (prepared.status === "too long") await failRun(agent, writer, prepared.error);
    else await beginCompaction(agent, writer, prepared.cut, shrinkSteps(runOf(writer), "compacted"));
    return context;
  }
  if (timeLeft(run, agent.now()) <= 0) {
    await commit();
    await failRun(agent, writer, timeOverText);
    return context;
  }
  // A commit that fails interrupts the call.
  const committed = commit(prepared.steps);
  const deltas = streamDeltas(agent, writer.sessionKey, run, peers);
  const called = whileTyping(agent, run.origin, () => callModel(agent, writer, run, prepared, deltas));
  const kept = agent.keptPrompts.keep(writer.state, prepared.turn.agentId, prepared.turn.prompt);
  const [, outcome] = await Promise.all([committed, called, kept]);
  // The end of a run is told to every client there is: one that has just connected waits for nothing else.
  const clients = callsTools(outcome) ? deltas.clients() : agent.broadcast.clients();
  const listeners = Promise.all([clients, deltas.end()]).then(([connectionIds]) => connectionIds);
  listeners.catch(() => {});
  return takeOutcome(agent, writer, prepared, outcome, { ...context, listeners });
}

function callsTools(outcome: ModelOutcome): boolean {
  return outcome.status === "answered" && toolCallsOf(outcome.message).length > 0;
}

async function callModel(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  { turn, before, request, after }: Prepared,
  deltas: Deltas,
): Promise<ModelOutcome> {
  const { sessionId, settings } = writer.state;
  const outcome = await agent.callModel({
    model: turn.model,
    ...(turn.thinkingLevel ? { thinkingLevel: turn.thinkingLevel } : {}),
    ...(settings.maxTokens ? { maxTokens: settings.maxTokens } : {}),
    systemPrompt: turn.prompt.text,
    messages: repairTranscript([...before, ...request.messages, ...after]),
    tools: turn.tools,
    sessionId,
    signal: writer.interrupted,
    timeoutMs: Math.min(turn.configuration.timeouts.llmMs, timeLeft(run, agent.now())),
    onText: deltas.add,
    onRepeat: deltas.repeat,
  });
  const isOver = outcome.status === "failed" && timeLeft(run, agent.now()) <= 0;
  return isOver ? { status: "failed", error: timeOverText, overflow: false } : outcome;
}
