import { contextAfter, earlierContext } from "../../../shared/context/after-compaction.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import type { CompactResult } from "../../../shared/protocol/results.ts";
import type { Spending } from "../../../shared/protocol/session-results.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { archivePart, partKey } from "../../../shared/session/archive.ts";
import { effectiveModel } from "../../../shared/session/commands/model-choice.ts";
import {
  type CompactionText,
  putCompactionText,
  readCompactionText,
} from "../../../shared/session/compaction-text.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { nothingSpent, spendingStep } from "../../../shared/session/spending.ts";
import { assign, type Compaction, type SessionState } from "../../../shared/session/state.ts";
import { isStopped } from "../../../shared/session/stop.ts";
import { readSummaryMessage, summaryMessage, summarySize } from "../../../shared/session/summary-message.ts";
import { deleteMessages } from "../../../shared/session/transcript.ts";
import { originsOfSession } from "../../../shared/session/words-read.ts";
import { remove, type Step, set } from "../../../shared/world/expression.ts";
import type { Agent } from "../agent.ts";
import { type Cut, cutByCount } from "../context/context-fit.ts";
import { messageOverhead, tokenRate, totalCharacters } from "../context/context-size.ts";
import { describeModel } from "../model/resolve-model.ts";
import { maintaining } from "../payer.ts";
import { failRun } from "../reply/delivery.ts";
import { answerEntry, refuseEntry } from "../reply/request-reply.ts";
import { dropFromSearch, keepForSearch } from "../self/kept-for-search.ts";
import type { SessionWriter } from "../session-writer.ts";
import { whileTyping } from "../typing.ts";

/** Later attempts call no model: the call may be what killed the function. */
const maxModelAttempts = 2;

/** After this many attempts a compaction is given up, and the conversation is unchanged. */
const maxAttempts = 6;

/** Kept messages per batch of parallel writes. */
const writesAtOnce = 25;

type CompactEntry = Extract<InboxEntry, { kind: "compact" }>;

/** The changes of the session item that begin a compaction. It is then the session's next step, whichever invocation runs it. */
export function compactionSteps(
  { now }: Pick<Agent, "now">,
  { first, compactedAt = 0 }: SessionState,
  { cut, mostCharacters }: Cut,
  more: readonly Step[] = [],
): Step[] {
  const compacting: Compaction = {
    at: Math.max(now(), compactedAt + 1),
    upTo: first + cut - 1,
    mostCharacters,
    attempt: 0,
  };
  return [assign("compacting", compacting), ...more];
}

/** Compacts on request, regardless of the size. Does nothing if the summary would not be shorter than the removed part. */
export async function compactOnRequest(
  agent: Agent,
  writer: SessionWriter,
  entry: CompactEntry,
): Promise<void> {
  const { state } = writer;
  const messages = await agent.history.load(state);
  const cut = cutByCount(messages, entry.keep);
  const configuration = await agent.configuration.load();
  const model = effectiveModel(configuration, state.sessionKey, state.settings);
  const { contextWindow } = await describeModel(model);
  const room = contextWindow / 8 / tokenRate(state.tokensPerCharacter);
  const removed = totalCharacters(messages.slice(0, cut));
  const mostCharacters = Math.floor(Math.min(summarySize.most, room, removed - messageOverhead));
  // Summarizing a lone summary would not make it shorter.
  const isSummaryAlone = cut === 1 && readSummaryMessage(messages[0]) !== undefined;
  if (mostCharacters >= summarySize.least && !isSummaryAlone) {
    await writer.commit(compactionSteps(agent, state, { cut, mostCharacters }));
    return;
  }
  await answerRequest(agent, writer, entry, { ok: true, trimmedMessages: 0, keptMessages: messages.length });
}

/**
 * Performs a compaction, or resumes it: the summary text first, then the archive, the memories and the new messages, then
 * one commit that makes these the conversation. The old messages are deleted after that. Each step may be repeated.
 */
export async function compactStep(agent: Agent, writer: SessionWriter, begun: Compaction): Promise<void> {
  const asked = askedBy(writer.state);
  if (asked && begun.result) return answerRequest(agent, writer, asked, begun.result);
  const compacting = { ...begun, attempt: begun.attempt + 1 };
  if (compacting.attempt > maxAttempts) return giveUp(agent, writer, begun);
  await writer.commit([set(["compacting", "attempt"], compacting.attempt)]);
  const { state } = writer;
  const messages = await agent.history.load(state);
  const count = compacting.upTo - state.first + 1;
  const [removed, kept] = [messages.slice(0, count), messages.slice(count)];
  const text = await compactionText(agent, writer, compacting, removed, kept);
  if (!text) return;
  // A process that has lost the session meanwhile must not archive: whoever took it over may have called this off.
  await writer.commit([set(["compacting", "attempt"], compacting.attempt)]);
  const { at } = compacting;
  const from = { ...state, origins: originsOfSession(state, messages) };
  const archivedTo = state.private ? undefined : await archiveRemoved(agent, from, at, removed);
  if (text.memories)
    await (await import("./extract-memories.ts")).appendDailyMemory(agent, from, at, text.memories);
  const { first, head, context } = writer.state;
  const compacted = { removed, kept, first, upTo: compacting.upTo, head, at };
  const live = [summaryMessage(text.summary, at, earlierContext(compacted, context)), ...kept];
  await writeLive(writer, live);
  const left = contextAfter(context, compacted);
  const steps = left ? [assign("context", left)] : context ? [remove("context")] : [];
  await commitLive(agent, writer, compacting, { live, text, archivedTo, steps });
}

/** Archives the messages that a compaction removes. @returns the archive's key */
async function archiveRemoved(
  agent: Agent,
  from: SessionState,
  at: number,
  removed: readonly Message[],
): Promise<string> {
  const key = await archivePart(agent.bucket, from, at, { count: removed.length, stream: removed });
  await keepForSearch(agent, from.sessionKey, key);
  return key;
}

/**
 * Reads the text that an earlier attempt stored, or asks the model. Undefined when the compaction is called off: the run
 * was stopped, or the provider is down.
 */
async function compactionText(
  agent: Agent,
  writer: SessionWriter,
  { at, attempt, mostCharacters }: Compaction,
  removed: readonly Message[],
  kept: readonly Message[],
): Promise<CompactionText | undefined> {
  const { state, sessionKey, interrupted } = writer;
  const earlier = await readCompactionText(agent.table, sessionKey, at);
  // A part of the archive may exist by now: a stop comes too late.
  if (earlier) return earlier;
  if (askedBy(state) && isStopped(state)) {
    await callOff(agent, writer, stoppedText, nothingSpent);
    return undefined;
  }
  const { requestAmong, summarize, writeSummary } = await import("./summarize.ts");
  const request = state.run && requestAmong(removed, kept);
  const configuration = await agent.configuration.load();
  const model = effectiveModel(configuration, sessionKey, state.settings, state.run?.overrides);
  log("compaction.start", { sessionKey, at, attempt, messages: removed.length });
  const { contextWindow } = await describeModel(model);
  const withMemories = configuration.compaction.extractMemories && !state.private;
  const origins = originsOfSession(state, removed);
  const { nearestMemories } = await import("./known-memories.ts");
  const known = withMemories ? await nearestMemories(agent, sessionKey, origins, removed) : [];
  const outcome = await whileTyping(agent, state.run?.origin, () =>
    summarize(agent, {
      state,
      model,
      payment: { account: writer.account, occasion: maintaining(configuration, sessionKey, state.run) },
      contextWindow,
      timezone: configuration.userTimezone,
      messages: removed,
      mostCharacters,
      withMemories,
      known,
      timeoutMs: configuration.timeouts.llmMs,
      interrupted,
      silent: attempt > maxModelAttempts,
    }),
  );
  const { spent } = outcome;
  if (outcome.status === "interrupted") {
    if (askedBy(writer.state) && isStopped(writer.state)) await callOff(agent, writer, stoppedText, spent);
    else await writer.commit([remove("compacting"), ...(await spentSteps(agent, writer, spent))]);
  }
  if (outcome.status === "unreachable") await callOff(agent, writer, outcome.error, spent);
  if (outcome.status !== "done") return undefined;
  const { withoutForgotten } = await import("./extract-memories.ts");
  const memories = await withoutForgotten(agent, state, at, outcome.memories);
  const summary = writeSummary({ count: outcome.count, text: outcome.text, request }, mostCharacters);
  return putCompactionText(agent.table, sessionKey, at, { summary, memories, spent });
}

async function writeLive(writer: SessionWriter, live: readonly Message[]): Promise<void> {
  for (let start = 0; start < live.length; start += writesAtOnce)
    await writer.write(live.slice(start, start + writesAtOnce), 1 + start);
}

/** What a compaction has written so far; its commit makes it effective. */
interface Compacted {
  live: Message[];
  text: CompactionText;
  /** Absent: the conversation is private. */
  archivedTo: string | undefined;
  steps: readonly Step[];
}

async function commitLive(
  agent: Agent,
  writer: SessionWriter,
  { at, upTo }: Compaction,
  { live, text, archivedTo, steps }: Compacted,
): Promise<void> {
  const { first, head, sessionKey } = writer.state;
  const trimmedMessages = upTo - first + 1;
  const keptMessages = live.length - 1;
  const archive = archivedTo === undefined ? {} : { archivedTo };
  const result = { ok: true, trimmedMessages, keptMessages, ...archive } as const;
  const asked = askedBy(writer.state);
  await writer.commit([
    set("first", head + 1),
    set("head", head + live.length),
    set("clearFrom", first),
    set("compactedAt", at),
    ...(await spentSteps(agent, writer, text.spent)),
    remove("contextTokens"),
    ...steps,
    asked ? set(["compacting", "result"], result) : remove("compacting"),
  ]);
  agent.history.extend(writer.state, live);
  log("compaction.end", { sessionKey, at, trimmedMessages, keptMessages });
  if (asked) await answerRequest(agent, writer, asked, result);
  await clearArchived(agent, writer, first);
}

/** Deletes the messages that a compaction has archived, beginning with `from`. */
export async function clearArchived(agent: Agent, writer: SessionWriter, from: number): Promise<void> {
  const { sessionKey, sessionId, first } = writer.state;
  await deleteMessages(agent, sessionKey, sessionId, from, first - 1);
  await writer.commit([remove("clearFrom")]);
}

/** Gives a compaction up. Its archive is deleted, since the archived messages are still live. */
async function giveUp(agent: Agent, writer: SessionWriter, { at }: Compaction): Promise<void> {
  const { sessionKey, sessionId } = writer.state;
  log("compaction.given-up", { sessionKey });
  const part = partKey(agentIdOf(sessionKey), sessionId, at);
  await dropFromSearch(agent, part);
  await agent.bucket.delete(part);
  const error = "LLM error: the conversation is too long, and could not be compacted";
  await callOff(agent, writer, error, nothingSpent);
}

/** Ends a compaction without a change. The run or request that needed it fails with `error`. */
async function callOff(agent: Agent, writer: SessionWriter, error: string, spent: Spending): Promise<void> {
  const steps = [remove("compacting"), ...(await spentSteps(agent, writer, spent))];
  const asked = askedBy(writer.state);
  if (!asked) {
    if (writer.state.run) await failRun(agent, writer, error, { steps });
    else await writer.commit(steps);
    return;
  }
  await refuseEntry(agent, asked, "compact", `Nothing was changed. ${error}`).catch(unanswered(writer));
  await writer.commitEntry(asked, [...steps, remove("stopEntry")]);
}

const stoppedText = "It was stopped by the user.";

/** The entry that requested the compaction in progress. Undefined for a run's compaction. */
function askedBy({ run, inbox: [entry] }: SessionState): CompactEntry | undefined {
  return !run && entry?.kind === "compact" ? entry : undefined;
}

/** Counts the spending of a compaction's model calls. They belong to no turn. */
async function spentSteps(agent: Agent, { state }: SessionWriter, spent = nothingSpent): Promise<Step[]> {
  const { userTimezone } = await agent.configuration.load();
  const input = state.tokens.input + spent.input + spent.cacheRead + spent.cacheWrite;
  const output = state.tokens.output + spent.output;
  return [
    set("tokens", { input, output, total: input + output }),
    spendingStep(state, spent, { now: agent.now(), timezone: userTimezone }),
  ];
}

/**
 * Answers the request, removes it from the inbox, and ends the compaction. After a crash the request may be answered twice,
 * but never not at all.
 */
async function answerRequest(
  agent: Agent,
  writer: SessionWriter,
  entry: CompactEntry,
  result: CompactResult,
): Promise<void> {
  const { keptMessages, trimmedMessages } = result;
  const verb = writer.state.private ? "deleted" : "archived";
  const response = `Compacted session. Kept ${keptMessages} messages, ${verb} ${trimmedMessages}.`;
  await Promise.all([
    answerEntry(agent, entry, result, "compact", response).catch(unanswered(writer)),
    writer.account.settle(),
  ]);
  await writer.commitEntry(entry, [remove("compacting"), remove("stopEntry")]);
}

/** A failed answer is only logged: the requester may have disconnected. */
const unanswered = (writer: SessionWriter) => (error: unknown) =>
  logError("compaction.unanswered", error, { sessionKey: writer.sessionKey });
