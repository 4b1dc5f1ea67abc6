import { randomUUID } from "node:crypto";
import { gitSettings } from "../../shared/git/git-settings.ts";
import { mediaNamed, mediaOf, mediaPrefix } from "../../shared/media/media-store.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { archiveSession } from "../../shared/session/archive.ts";
import { listSteps } from "../../shared/session/due.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { agentIdOf } from "../../shared/session/key/session-key.ts";
import { recordPreviousId } from "../../shared/session/previous-ids.ts";
import { isResetDue, resetRules, resetScheduleSteps } from "../../shared/session/reset-schedule.ts";
import { spentAfterReset } from "../../shared/session/spending.ts";
import {
  assign,
  messageCount,
  metaKey,
  type Resetting,
  type SessionState,
} from "../../shared/session/state.ts";
import { clearMessages, newestMessages, streamMessages } from "../../shared/session/transcript.ts";
import { remove, set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { answerEntry } from "./reply/request-reply.ts";
import { keepForSearch } from "./self/kept-for-search.ts";
import type { SessionWriter } from "./session-writer.ts";
import { whileTyping } from "./typing.ts";

export type ResetEntry = Extract<InboxEntry, { kind: "reset" }>;

/** After this many attempts a reset extracts no memories: the extraction may be what kills the function. */
const maxExtractions = 2;

/** Memories are extracted from the newest messages, up to this size in bytes of JSON. */
const maxExtractedBytes = 12_000_000;

/** Bound of the memories, which are stored in the session's item (at most 400 KB) until they are appended. Bytes. */
const maxMemoryBytes = 30_000;

/**
 * Media that is this much older than a reset belongs to the conversation that ends. A newer object that no message of
 * the conversation names may belong to a message that is about to enter the inbox: the function that accepts it ends
 * within half this time; the rest allows for differing clocks. Milliseconds.
 */
const arrivingMs = 60_000;

/** Whether the session's policy requires a reset before a message that arrived at `at` (epoch ms). */
export async function isDue(agent: Agent, state: SessionState, at: number): Promise<boolean> {
  if (messageCount(state) === 0) return false;
  const { policy, timezone } = await resetRules(agent.configuration, state);
  return isResetDue(state, policy, at, timezone);
}

/**
 * Resets a session, step by step (docs/decisions/resets.md). The plan is committed first, then each step records that
 * it is done, so that an interrupted reset can be resumed at any step.
 * @param entry the request; absent when the session is due before the message at the head of the inbox
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

/** Resumes a reset that an earlier invocation did not finish. */
export async function resumeReset(agent: Agent, writer: SessionWriter): Promise<void> {
  const attempt = resettingOf(writer).attempt + 1;
  log("reset.resume", { sessionKey: writer.sessionKey, attempt });
  await writer.commit([set(["resetting", "attempt"], attempt)]);
  await carryOut(agent, writer);
}

async function carryOut(agent: Agent, writer: SessionWriter): Promise<void> {
  // The sender of the entry at the head of the inbox waits for the reset.
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
    await answerRequest(agent, writer);
  });
}

/** Commits the workspace to its Git history. A failure is only logged and does not stop the reset. */
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

/** Commits the extracted memories before it appends them: a repeat appends the same text, which has no further effect. */
async function keepMemories(agent: Agent, writer: SessionWriter): Promise<void> {
  const { memories, messages, mediaDeleted } = resettingOf(writer);
  if (messages === 0 || mediaDeleted !== undefined) return;
  const text = memories ?? (await extract(agent, writer));
  if (memories === undefined) await writer.commit([set(["resetting", "memories"], text)]);
  if (text === "") return;
  const { appendDailyMemory } = await import("./compaction/extract-memories.ts");
  await appendDailyMemory(agent, writer.state, writer.state.updatedAt, text);
}

/** Memories of the conversation. Empty when there are none, and when the extraction fails: the reset goes on without. */
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

/** As many whole lines from the start as fit. */
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
 * Deletes the media of the conversation: objects that its messages name, and objects older than the reset. The list is
 * read before a commit: if the commit succeeds the lease was still held, so the list has no object of the next
 * conversation. Media of messages in the inbox is kept, and media that may belong to an arriving message. The next reset
 * deletes objects that were kept without need.
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

/** Switches to the new session id. A reset by request still has to be answered; a reset before a message is over. */
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
    set("previousSessionIds", []),
    set("first", 1),
    set("head", 0),
    set("tokens", { input: 0, output: 0, total: 0 }),
    // The counter of the day is kept.
    ...(spent ? [assign("spent", spentAfterReset(spent))] : []),
    remove("contextTokens"),
    remove("context"),
    remove("resetScheduledFor"),
    set("lastResetAt", at),
    entry ? set(["resetting", "result"], result) : remove("resetting"),
    ...(isActivity ? [set("updatedAt", at), ...listSteps(metaKey(sessionKey), at)] : []),
  ]);
  log("session.reset", { sessionKey, oldSessionId: sessionId, newSessionId, archivedMessages: messages });
}

/** The entry that requested the reset; it stays at the head of the inbox until it is answered. */
function requestOf(writer: SessionWriter): ResetEntry | undefined {
  const { entryId } = resettingOf(writer);
  const [entry] = writer.state.inbox;
  return entry?.kind === "reset" && entry.id === entryId ? entry : undefined;
}

/** Answers the request and removes it from the inbox. After a crash it may be answered twice, but never not at all. */
async function answerRequest(agent: Agent, writer: SessionWriter): Promise<void> {
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
