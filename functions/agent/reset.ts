import { randomUUID } from "node:crypto";
import { gitSettings } from "../../shared/git/git-settings.ts";
import { mediaNamed, mediaOf, mediaPrefix } from "../../shared/media/media-store.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { archiveSession } from "../../shared/session/archive.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { agentIdOf } from "../../shared/session/key/session-key.ts";
import { recordPreviousId } from "../../shared/session/previous-ids.ts";
import { isResetDue, resetRules, resetScheduleSteps } from "../../shared/session/reset-schedule.ts";
import { spentAfterReset } from "../../shared/session/spending.ts";
import {
  assign,
  messageCount,
  type Resetting,
  type SessionState,
  sessionPartition,
} from "../../shared/session/state.ts";
import { clearMessages, newestMessages, streamMessages } from "../../shared/session/transcript.ts";
import { remove, set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { answerEntry } from "./reply/request-reply.ts";
import { keepForSearch } from "./self/kept-for-search.ts";
import type { SessionWriter } from "./session-writer.ts";
import { whileTyping } from "./typing.ts";

export type ResetEntry = Extract<InboxEntry, { kind: "reset" }>;

/** A reset that crashed this often goes on without memories: extracting them may be what kills the function. */
const maxExtractions = 2;

/** Newest part of a conversation that memories are extracted from, in bytes of JSON. */
const maxExtractedBytes = 12_000_000;

/** Memories wait in the session's item, which holds 400 KB in all, until they are appended. Bytes. */
const maxMemoryBytes = 30_000;

/**
 * Media that is this much older than a reset belongs to the conversation that ends. A newer object that no message of
 * the conversation names may belong to a message that is on its way into the inbox: the function that takes it ends
 * within half this time, and clocks differ. Milliseconds.
 */
const arrivingMs = 60_000;

/** Whether the session's policy asks for a reset before what arrived at `at` (epoch ms). */
export async function isDue(agent: Agent, state: SessionState, at: number): Promise<boolean> {
  if (messageCount(state) === 0) return false;
  const { policy, timezone } = await resetRules(agent.configuration, state);
  return isResetDue(state, policy, at, timezone);
}

/**
 * Resets a session, step by step (docs/decisions/resets.md). What the reset will do is committed first
 * and each step leaves its mark, so that it can be taken up wherever it was interrupted.
 * @param entry what asked for it; without one, it is the message at the head of the inbox that found the session due
 */
export async function beginReset(agent: Agent, writer: SessionWriter, entry?: ResetEntry): Promise<void> {
  if (entry?.via === "policy" && !(await isDue(agent, writer.state, entry.at))) {
    log("reset.dropped", { sessionKey: writer.sessionKey });
    const steps = await resetScheduleSteps(agent, writer.state, Math.max(agent.now(), entry.at));
    await writer.commitEntry(entry, steps);
    return;
  }
  const resetting: Resetting = {
    newSessionId: randomUUID(),
    at: agent.now(),
    ...(entry ? { entryId: entry.id } : {}),
    attempt: 1,
    messages: messageCount(writer.state),
  };
  await writer.commit([assign("resetting", resetting)]);
  await carryOut(agent, writer);
}

/** Takes up a reset that an earlier invocation did not finish. */
export async function resumeReset(agent: Agent, writer: SessionWriter): Promise<void> {
  const attempt = resettingOf(writer).attempt + 1;
  log("reset.resume", { sessionKey: writer.sessionKey, attempt });
  await writer.commit([set(["resetting", "attempt"], attempt)]);
  await carryOut(agent, writer);
}

async function carryOut(agent: Agent, writer: SessionWriter): Promise<void> {
  // Whoever wrote what is at the head of the inbox waits for it.
  const [entry] = writer.state.inbox;
  await whileTyping(agent, entry?.origin, async () => {
    if (!resettingOf(writer).result) {
      await archive(agent, writer);
      await keepMemories(agent, writer);
      await deleteMedia(agent, writer);
      await clearMessages(agent, writer.sessionKey, writer.state.sessionId);
      await commitHistory(agent, writer);
      await startAfresh(agent, writer);
    }
    await answer(agent, writer);
  });
}

/** Commits the workspace as the conversation leaves it. A failure is logged: a reset does not wait for the history. */
async function commitHistory(agent: Agent, writer: SessionWriter): Promise<void> {
  const { sessionKey, state } = writer;
  try {
    const agentId = agentIdOf(sessionKey);
    const { enabled } = gitSettings(await agent.configuration.load(), agentId);
    if (!enabled) return;
    const { commitWorkspace } = await import("../../shared/git/workspace-commit.ts");
    const message = `session-close: ${sessionKey} ${state.sessionId}`;
    await commitWorkspace(agent.bucket, agentId, { message, at: resettingOf(writer).at });
  } catch (error) {
    logError("reset.history", error, { sessionKey });
  }
}

function resettingOf({ state, sessionKey }: SessionWriter): Resetting {
  if (!state.resetting) throw new Error(`session ${sessionKey} is not being reset`);
  return state.resetting;
}

async function archive(agent: Agent, writer: SessionWriter): Promise<void> {
  const { archivedTo, messages, at } = resettingOf(writer);
  if (archivedTo !== undefined || messages === 0) return;
  const key = await archiveSession(agent, writer.state, at);
  await keepForSearch(agent, key);
  await writer.commit([set(["resetting", "archivedTo"], key)]);
}

/** What is extracted is committed before it is appended, so that a repeat appends the very same, which counts once. */
async function keepMemories(agent: Agent, writer: SessionWriter): Promise<void> {
  const { memories, messages, mediaDeleted } = resettingOf(writer);
  if (messages === 0 || mediaDeleted !== undefined) return;
  const text = memories ?? (await extract(agent, writer));
  if (memories === undefined) await writer.commit([set(["resetting", "memories"], text)]);
  if (text === "") return;
  const { appendDailyMemory } = await import("./compaction/extract-memories.ts");
  await appendDailyMemory(agent, writer.state, writer.state.updatedAt, text);
}

/** Empty when there is nothing to remember, and when the model cannot say: a reset does not wait for it. */
async function extract(agent: Agent, writer: SessionWriter): Promise<string> {
  const { sessionKey, state } = writer;
  if (resettingOf(writer).attempt > maxExtractions) return "";
  try {
    const { extractMemories } = await import("./compaction/extract-memories.ts");
    const messages = await newestMessages(agent, state, maxExtractedBytes);
    const text = (await extractMemories(agent, state, messages, writer.interrupted)) ?? "";
    return wholeLines(text, maxMemoryBytes);
  } catch (error) {
    logError("reset.memories", error, { sessionKey });
    return "";
  }
}

/** As many of the first lines as fit. */
function wholeLines(text: string, maxBytes: number): string {
  const lines: string[] = [];
  let bytes = 0;
  for (const line of text.split("\n")) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) break;
    lines.push(line);
  }
  return lines.join("\n");
}

/**
 * Deletes the media of the conversation: what its messages name, and what is older than the reset. It is listed before a
 * commit: while the commit succeeds the session is still held, so no object of the next conversation can be among it.
 * Media of messages that wait in the inbox stays, and media that may belong to a message on its way there. What stays
 * without need is deleted by the next reset.
 */
async function deleteMedia(agent: Agent, writer: SessionWriter): Promise<void> {
  const { at } = resettingOf(writer);
  const listed = await agent.bucket.list(mediaPrefix(writer.sessionKey));
  const young = listed.objects.filter(({ lastModified }) => lastModified >= at - arrivingMs);
  const arriving = new Set(young.map(({ key }) => key));
  if (arriving.size > 0)
    for (const key of await mediaNamed(streamMessages(agent, writer.state), [...arriving]))
      arriving.delete(key);
  const objects = listed.objects.filter(({ key }) => !arriving.has(key));
  const ofConversation = () => {
    const waiting = mediaOf(writer.state.inbox);
    return objects.filter(({ key }) => !waiting.has(key));
  };
  const count = resettingOf(writer).mediaDeleted ?? ofConversation().length;
  await writer.commit([set(["resetting", "mediaDeleted"], count)]);
  for (const { key } of ofConversation()) await agent.bucket.delete(key);
}

/** Switches to the new id. A request waits for its answer with the reset; for a message, the reset is over. */
async function startAfresh({ table }: Agent, writer: SessionWriter): Promise<void> {
  const { sessionKey, sessionId, tokens, spent } = writer.state;
  const resets = await recordPreviousId(table, writer.state);
  const { newSessionId, at, messages, archivedTo, mediaDeleted = 0 } = resettingOf(writer);
  const entry = requestOf(writer);
  const result = {
    ok: true,
    sessionKey,
    oldSessionId: sessionId,
    newSessionId,
    archivedMessages: messages,
    ...(archivedTo ? { archivedTo } : {}),
    tokensCleared: { ...tokens },
    mediaDeleted,
  };
  const isActivity = entry !== undefined && entry.via !== "policy";
  await writer.commit([
    set("sessionId", newSessionId),
    set("resets", resets),
    remove("previousSessionIds"),
    set("first", 1),
    set("head", 0),
    set("tokens", { input: 0, output: 0, total: 0 }),
    // The day goes on.
    ...(spent ? [assign("spent", spentAfterReset(spent))] : []),
    remove("contextTokens"),
    remove("context"),
    remove("resetScheduledFor"),
    set("lastResetAt", at),
    entry ? set(["resetting", "result"], result) : remove("resetting"),
    ...(isActivity ? [set("updatedAt", at), set("listPk", sessionPartition), set("listSk", at)] : []),
  ]);
  log("session.reset", { sessionKey, oldSessionId: sessionId, newSessionId, archivedMessages: messages });
}

/** The entry that asked for the reset; it stays at the head of the inbox until it is answered. */
function requestOf(writer: SessionWriter): ResetEntry | undefined {
  const { entryId } = resettingOf(writer);
  const [entry] = writer.state.inbox;
  return entry?.kind === "reset" && entry.id === entryId ? entry : undefined;
}

/** Tells whoever asked, and takes the request out of the inbox. After a crash it may be told twice, never not at all. */
async function answer(agent: Agent, writer: SessionWriter): Promise<void> {
  const { result } = writer.state.resetting ?? {};
  const entry = result && requestOf(writer);
  if (!result || !entry) return;
  const { via } = entry;
  const response = `Session reset. Archived ${result.archivedMessages} messages.`;
  try {
    if (via !== "policy") await answerEntry(agent, { ...entry, via }, result, "reset", response);
  } catch (error) {
    logError("reset.unanswered", error, { sessionKey: writer.sessionKey });
  }
  await writer.commitEntry(entry, [remove("resetting")]);
}
