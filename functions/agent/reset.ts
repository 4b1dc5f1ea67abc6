import { randomUUID } from "node:crypto";
import { arrivingMs, mediaNamed, mediaOf, mediaPrefix } from "../../shared/media/media-store.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { archiveSession } from "../../shared/session/archive.ts";
import { listSteps } from "../../shared/session/due.ts";
import { queueExtraction } from "../../shared/session/extraction.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { recordPreviousId } from "../../shared/session/previous-ids.ts";
import { isResetDue, resetRules, resetScheduleSteps } from "../../shared/session/reset-schedule.ts";
import { spentAfterReset } from "../../shared/session/spending.ts";
import {
  assign,
  messageCount,
  metaKey,
  type Resetting,
  type SessionState,
  type ToExtract,
} from "../../shared/session/state.ts";
import { clearMessages, streamMessages } from "../../shared/session/transcript.ts";
import { remove, set } from "../../shared/world/expression.ts";
import type { Agent } from "./agent.ts";
import { commitHistory } from "./compaction/extraction-job.ts";
import { originsOf } from "./origins-of.ts";
import { answerEntry } from "./reply/request-reply.ts";
import { announceEnd } from "./reply/session-news.ts";
import { keepForSearch } from "./self/kept-for-search.ts";
import type { SessionWriter } from "./session-writer.ts";
import { whileTyping } from "./typing.ts";

export type ResetEntry = Extract<InboxEntry, { kind: "reset" }>;

/** What the answer to `/private` adds. */
const privateText =
  "This conversation is private: it is not archived or searched, and no memories are extracted from it. /new ends and deletes it.";

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
    ...(entry?.private ? { private: true } : {}),
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
      await commitHistory(agent, writer.state, resettingOf(writer).at);
      await startAfresh(agent, writer);
    }
    await answerRequest(agent, writer);
  });
}

function resettingOf({ state, sessionKey }: SessionWriter): Resetting {
  if (!state.resetting) throw new Error(`session ${sessionKey} is not being reset`);
  return state.resetting;
}

/**
 * Archives the messages, and records that memories are to be extracted from the archive, unless the conversation is private.
 * `memories` is empty so that an earlier version that continues this reset extracts none itself.
 */
async function archive(agent: Agent, writer: SessionWriter): Promise<void> {
  const { archivedTo, memories, mediaDeleted, messages, at } = resettingOf(writer);
  const { sessionId, updatedAt, private: isPrivate } = writer.state;
  if (messages === 0 || isPrivate) return;
  const origins = await originsOf(agent, writer.state);
  const key = archivedTo ?? (await archiveSession(agent, { ...writer.state, origins }, at));
  if (archivedTo === undefined) await keepForSearch(agent, writer.sessionKey, key);
  // An earlier version that began this reset may have extracted them.
  const isOpen = memories === undefined && mediaDeleted === undefined;
  if (archivedTo !== undefined && !isOpen) return;
  const { compaction } = await agent.configuration.load();
  const extracting = { sessionId, archive: key, queuedAt: at, at: updatedAt, origins };
  await writer.commit([
    set(["resetting", "archivedTo"], key),
    ...(isOpen ? [set(["resetting", "memories"], "")] : []),
    ...(isOpen && compaction.extractMemories ? [assign("extracting", extracting)] : []),
  ]);
}

/** Appends the memories of a reset that an earlier version began. A repeat changes nothing. */
async function keepMemories(agent: Agent, writer: SessionWriter): Promise<void> {
  const { memories, mediaDeleted } = resettingOf(writer);
  if (!memories || mediaDeleted !== undefined) return;
  const { appendDailyMemory } = await import("./compaction/extract-memories.ts");
  await appendDailyMemory(agent, writer.state, writer.state.updatedAt, memories);
}

/** Queues the extraction that an earlier version left when it finished the reset. */
export async function queueLeft(agent: Agent, writer: SessionWriter, left: ToExtract): Promise<void> {
  await queueExtraction(agent.table, { sessionKey: writer.sessionKey, ...left }, agent.now());
  await writer.commit([remove("extracting")]);
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
async function startAfresh(agent: Agent, writer: SessionWriter): Promise<void> {
  const { sessionKey, sessionId, tokens, spent, extracting } = writer.state;
  if (extracting) await queueExtraction(agent.table, { sessionKey, ...extracting }, agent.now());
  const resets = await recordPreviousId(agent.table, writer.state);
  const { newSessionId, at, archivedTo, mediaDeleted = 0, private: isPrivate } = resettingOf(writer);
  const messages = writer.state.private ? 0 : resettingOf(writer).messages;
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
  writer.account.resetSession();
  await writer.commit([
    set("sessionId", newSessionId),
    set("resets", resets),
    remove("previousSessionIds"),
    isPrivate ? set("private", true) : remove("private"),
    set("first", 1),
    set("head", 0),
    set("tokens", { input: 0, output: 0, total: 0 }),
    // The counter of the day is kept.
    ...(spent ? [assign("spent", spentAfterReset(spent))] : []),
    remove("contextTokens"),
    remove("context"),
    remove("foundTools"),
    remove("origins"),
    remove("resetScheduledFor"),
    remove("extracting"),
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
  const begun = writer.state.private ? ` ${privateText}` : "";
  const response = `Session reset. Archived ${result.archivedMessages} messages.${begun}`;
  try {
    if (via !== "policy") await answerEntry(agent, { ...entry, via }, result, "reset", response);
  } catch (error) {
    logError("reset.unanswered", error, { sessionKey: writer.sessionKey });
  }
  await announceEnd(agent, writer.state, agent.broadcast.clients());
  await writer.commitEntry(entry, [remove("resetting")]);
}
