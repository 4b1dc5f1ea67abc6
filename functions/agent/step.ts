import { recordRunning } from "../../shared/cron/run-history.ts";
import { mediaBlocks, userContent } from "../../shared/media/media-content.ts";
import { joinOrigins } from "../../shared/origins/origins.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { listSteps } from "../../shared/session/due.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { havingRead, newRun, type Run, shrinkSteps, startedAgain } from "../../shared/session/run.ts";
import { assign, metaKey, type SessionState } from "../../shared/session/state.ts";
import { originsOfEntry, originsOfSession } from "../../shared/session/words-read.ts";
import { remove, type Step } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { albumParts, joinParts } from "./album.ts";
import { receiveAttachments } from "./attachments.ts";
import { compactionSteps } from "./compaction/compaction.ts";
import { type ConnectedPeers, freshPeersMs } from "./context/connected-peers.ts";
import { shrinkAfterRefusal } from "./context/context-fit.ts";
import { messageOrigin, newTail, type Prepared, plainTail, withTail } from "./context/model-request.ts";
import { waitAtLimit } from "./limit-step.ts";
import { type AskedModel, askModel, type ModelCallPlan, prepareCall, type Uncalled } from "./model-step.ts";
import { announceWait, unannounced } from "./reply/delivery.ts";
import { feedbackLines } from "./reply/feedback-lines.ts";
import { announceStart } from "./reply/session-news.ts";
import { applyReply, failStep } from "./reply-step.ts";
import { type Next, runOf, type SessionWriter } from "./session-writer.ts";

/** A step of a run as data: its writes, and the model call that is made in parallel. */
export interface StepPlan {
  /** The run after the write. */
  run: Run;
  /** Messages to append to the transcript. */
  appended: readonly Message[];
  /** Other changes of the session item, in the same write. */
  writes: readonly Step[];
  /** The inbox entry to remove, in the same write. */
  entry?: InboxEntry;
  /** Further entries that the message contains, which the same write removes. */
  others?: readonly InboxEntry[];
  /** Absent: the step only writes, and the session loop continues from the new state. */
  call?: ModelCallPlan;
  /** Called before the commit, beside the model call: nothing repeats it afterwards. */
  record?: () => Promise<void>;
}

/**
 * Plans the first step of a message's run. With attachments, these are fetched first and the step only commits the message:
 * the loop then checks whether the remaining time is enough for a model call.
 */
export async function beginRun(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  first: Extract<InboxEntry, { kind: "message" }>,
): Promise<StepPlan> {
  const [, ...others] = albumParts(first, writer.state.inbox);
  const entry = joinParts([first, ...others]);
  const received = entry.attachments && (await receiveAttachments(agent, writer, entry));
  const now = agent.now();
  const { feedback = [] } = writer.state;
  const text = [...feedbackLines(feedback), entry.text].join("\n");
  const content = userContent(text, [...(entry.media ?? []).flatMap(mediaBlocks), ...(received ?? [])]);
  const message: Message = { role: "user", content, origin: messageOrigin(entry), timestamp: entry.at };
  const { configurationVersion = agent.configuration.version() } = entry;
  agent.reminders.prepare(writer.sessionKey, entry.at);
  const before = await agent.history.load(writer.state);
  const read = joinOrigins(originsOfSession(writer.state, before), originsOfEntry(entry));
  const run = havingRead(newRun({ ...entry, configurationVersion }, received ? 0 : 1, now), read);
  log("run.start", { sessionKey: writer.sessionKey, runId: run.runId });
  const writes = [
    assign("updatedAt", now),
    ...(entry.origin.kind === "channel" ? [assign("lastChannel", entry.origin)] : []),
    ...listSteps(metaKey(writer.sessionKey), now),
    ...feedback.map((_, index) => remove(["feedback", index])),
  ];
  const plan = { run, appended: [message], writes, entry: first, others };
  // The peers are read after the message arrived, so that the run is offered every node that was connected by then.
  const peersSince = entry.at;
  if (!received) return { ...plan, call: { messages: [...before, message], isNew: true, peersSince } };
  const known = peers.known(peersSince);
  const { tail, origins } = await newTail(agent, writer.state, run, [...before, message], known).catch(
    async (error) => {
      logError("prompt.tail", error, { sessionKey: writer.sessionKey });
      return { tail: await plainTail(agent, run), origins: [] };
    },
  );
  return { ...plan, run: havingRead(run, origins), appended: withTail([message], tail) };
}

/** Does a model step that has not begun, or that an earlier invocation did not finish. */
export function resumeRun(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
): Promise<Next> {
  return startAgain(agent, writer, peers, run, async (again) => {
    const messages = await agent.history.load(writer.state);
    const call = { messages, peersSince: agent.now() - freshPeersMs };
    return runStep(agent, writer, peers, { run: again, appended: [], writes: [], call });
  });
}

/**
 * Starts a step again that an earlier invocation did not finish. After some starts the session is released until the next
 * one is due, and after too many the run fails. One message may be what ends the function, but so may an outage or whoever
 * kills processes, and these pass (`docs/decisions/interrupted-steps.md`).
 * @param start gets the run with the counted start, and has to commit it
 */
export async function startAgain(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  start: (again: Run) => Promise<Next>,
): Promise<Next> {
  const { sessionKey } = writer;
  const { runId, attempt, retryAt } = run;
  if (retryAt !== undefined && agent.now() < retryAt) {
    log("run.wait", { sessionKey, runId, attempt, retryAt });
    const clients = peers.clients(agent.now() - freshPeersMs);
    await announceWait(agent, sessionKey, run, retryAt - agent.now(), clients).catch(
      unannounced(sessionKey, runId),
    );
    return (await writer.releaseUntil(retryAt)) ? "released" : "continue";
  }
  const again = startedAgain(run, agent.now());
  if (!again) {
    await failStep(agent, writer, peers, `LLM error: the turn was interrupted ${attempt} times`);
    return "continue";
  }
  if (attempt > 0) log("run.resume", { sessionKey, runId, attempt: again.attempt });
  return start(again);
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
  const told = announced(agent, writer.state, plan, peers);
  const prepared = call && (await prepareCall(agent, writer, run, call, peers));
  const [, asked] = await Promise.all([
    commitPlan(writer, plan, prepared),
    prepared?.status === "fits" ? askModel(agent, writer, peers, run, prepared) : prepared,
    entry && recordStart(agent, run),
  ]);
  const next = asked ? await applyOutcome(agent, writer, peers, asked) : "continue";
  if (asked && "streamed" in asked) await asked.streamed;
  // The end of the run follows the news of its start.
  await told;
  return next;
}

/** Announces the first step of a run. */
function announced(
  agent: Agent,
  state: SessionState,
  { run: { runId }, appended: [message], entry }: StepPlan,
  peers: ConnectedPeers,
): Promise<void> | undefined {
  if (!entry || message?.role !== "user") return undefined;
  return announceStart(agent, state, runId, message, peers.clients(agent.now() - freshPeersMs));
}

/** Records in a job's history that its run has begun. A failure is only logged: the end is recorded, too. */
async function recordStart({ table }: Agent, { task, runId }: Run): Promise<void> {
  if (task?.kind !== "cron") return;
  await recordRunning(table, task).catch((error) => logError("cron.unrecorded", error, { runId }));
}

async function commitPlan(
  writer: SessionWriter,
  { run, appended, writes, entry, others, record }: StepPlan,
  prepared: Prepared | Uncalled | undefined,
): Promise<void> {
  await record?.();
  const [read, more] = prepared?.status === "fits" ? [prepared.turn.origins, prepared.steps] : [[], []];
  const steps = [assign("run", havingRead(run, read)), ...writes, ...more];
  const shown = prepared?.tail === undefined ? appended : withTail(appended, prepared.tail);
  if (appended.length > 0) await writer.append(shown, steps, entry, others);
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
      if (asked.ask && (await waitAtLimit(agent, writer, asked.error, asked.ask))) break;
      if (!smaller) await failStep(agent, writer, peers, asked.error);
      else if (!smaller.cut) await writer.commit(smaller.steps);
      else await writer.commit(compactionSteps(agent, writer.state, smaller.cut, smaller.steps));
      break;
    }
    case "answered":
      return applyReply(agent, writer, peers, asked);
  }
  return "continue";
}
