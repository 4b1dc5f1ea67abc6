import { unknownOrigin } from "../../../shared/origins/origins.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { log } from "../../../shared/runtime/log.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { effectiveModel } from "../../../shared/session/commands/model-choice.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import { SessionAccount } from "../../../shared/spend/session-account.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import { dailyMemoryPath, sharedMemoryPath } from "../../../shared/workspace/workspace-paths.ts";
import type { Agent } from "../agent.ts";
import { tokenRate } from "../context/context-size.ts";
import { describeModel } from "../model/resolve-model.ts";
import { maintaining } from "../payer.ts";
import { memoriesPrompt, readMemories, renderConversation } from "./compaction-prompts.ts";
import { changeLine, isOwners, nearestMemories, readStored, toStored } from "./known-memories.ts";
import { inChunks } from "./message-chunks.ts";

/** Only this many of the newest chunks are read. A chunk is a quarter of the model's window. */
const maxChunks = 12;

/** Max characters of each tool result: the messages around it usually say what is worth remembering. */
const maxOfResult = 2000;

/** Max tokens of an answer, more than `maxMemories` needs, so that a call reserves little. */
const maxAnswer = 8192;

/** The kind of a memory from the owner's conversation in which others have spoken too: dreaming does not promote it. */
const mixedKind = "mixed";

/** Max characters that one extraction adds to a day's notes. */
const maxMemories = 20_000;

/**
 * Asks the session's model for the facts of a conversation that are worth remembering, chunk by chunk: the content of
 * `<memories>` in its answers. Runs for at most `timeouts.llmMs` and then returns what was found. Reads the newest text, up
 * to three times the model's window. Does not throw when the model fails.
 * @returns `memories`: stored lines (`toStored`), absent when there are none or extraction is switched off. `error`: why a part
 * could not be read; a later attempt may succeed
 */
export async function extractMemories(
  agent: Pick<Agent, "configuration" | "callModel" | "book" | "memories">,
  state: Pick<
    SessionState,
    "sessionKey" | "sessionId" | "settings" | "tokensPerCharacter" | "updatedAt" | "origins"
  >,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<{ memories?: string; error?: string }> {
  const configuration = await agent.configuration.load();
  // Memories were extracted from summarized messages when the summary was made.
  const unread = messages.filter((message) => !readSummaryMessage(message));
  if (!configuration.compaction.extractMemories || unread.length === 0) return {};
  const model = effectiveModel(configuration, state.sessionKey, state.settings);
  const { contextWindow } = await describeModel(model);
  const chunkCharacters = contextWindow / 4 / tokenRate(state.tokensPerCharacter);
  const { llmMs } = configuration.timeouts;
  const end = AbortSignal.any([signal, AbortSignal.timeout(llmMs)]);
  const payment = {
    account: new SessionAccount(agent.book, state.sessionKey),
    occasion: { ...maintaining(configuration, state.sessionKey), isDeferrable: true },
  };
  const found: string[] = [];
  let answers = 0;
  let [refused, error]: (string | undefined)[] = [];
  for (const chunk of inChunks(unread, chunkCharacters).slice(-maxChunks)) {
    const known = await nearestMemories(agent, state.sessionKey, state.origins ?? [unknownOrigin], chunk);
    const conversation = renderConversation(chunk, configuration.userTimezone, maxOfResult);
    const { systemPrompt, text } = memoriesPrompt(conversation, known);
    const outcome = await agent.callModel({
      payment,
      model,
      maxTokens: maxAnswer,
      systemPrompt,
      messages: [{ role: "user", content: text, timestamp: state.updatedAt }],
      tools: [],
      sessionId: state.sessionId,
      signal: end,
      timeoutMs: llmMs,
      onText: () => {},
    });
    if (outcome.status === "aborted") {
      refused = `the model did not answer within ${llmMs / 1000} s`;
      break;
    }
    if (outcome.status === "failed") {
      log("memories.unread", { sessionKey: state.sessionKey, overflow: outcome.overflow });
      if (outcome.overflow) refused = outcome.error;
      else error = outcome.error;
      continue;
    }
    answers += 1;
    const memories = readMemories(textOf(outcome.message));
    if (memories) found.push(toStored(memories, known));
  }
  await payment.account.settle();
  error ??= answers === 0 ? refused : undefined;
  return { memories: joinMemories(found), ...(error === undefined ? {} : { error }) };
}

/** Joins the memories of all chunks: each line once, as many as fit. Undefined when there is none. */
export function joinMemories(found: readonly string[]): string | undefined {
  const lines = new Set(found.flatMap((text) => text.split("\n")).map((line) => line.trimEnd()));
  lines.delete("");
  const text = [...lines].join("\n").slice(0, maxMemories).toWellFormed().trim();
  return text === "" ? undefined : text;
}

/**
 * Appends memories to the day's file, `memory/{YYYY-MM-DD}.md`, under a header with the time
 * (docs/reference/storage-layout.md, "Daily memory"). What guests and groups said goes to `memory/shared/{YYYY-MM-DD}.md`, which
 * no prompt loads, under a header that names the session. Concurrent writers keep each other's sections, and appending
 * the same section again changes nothing. If the file cannot be appended to (2 MB, or not text), that is only logged: the
 * conversation goes on. The origin of each memory is stored separately. Memories that a user had the agent forget are left
 * out.
 * @param from the conversation, and whose words it contains, besides the owner's
 * @param at epoch ms; its date in `userTimezone` names the file, its time is in the header
 * @returns the memories that were appended
 */
export async function appendDailyMemory(
  agent: Pick<Agent, "configuration" | "workspace" | "memories">,
  {
    sessionKey,
    sessionId,
    origins = [unknownOrigin],
  }: Pick<SessionState, "sessionKey" | "sessionId" | "origins">,
  at: number,
  found: string,
): Promise<string> {
  const configuration = await agent.configuration.load();
  const agentId = agentIdOf(sessionKey);
  const { date, time } = localTime(at, configuration.userTimezone);
  const kind = sessionKind(sessionKey, keyRules(configuration));
  const audience = audienceOf(kind);
  const [path, heading] =
    audience === "shared"
      ? [sharedMemoryPath(date), `Said by others in ${sessionKey} (${time})`]
      : [dailyMemoryPath(date), `Extracted from context compaction (${time})`];
  const allowed = (await withoutForgotten(agent, { sessionKey, sessionId }, at, found)) ?? "";
  const { text, changes } = readStored(allowed);
  try {
    const section = `### ${heading}\n\n${text}\n`;
    if (text !== "") await agent.workspace.appendSection(agentId, path, section, origins);
  } catch (error) {
    if (!(error instanceof PeerError) || error.retryable) throw error;
    log("memories.refused", { agentId, date, reason: error.message });
    return "";
  }
  const memories = await agent.memories();
  const isOwn = isOwners(kind, origins);
  const from = {
    sessionKey,
    sessionId,
    kind: isOwn || audience === "shared" ? kind : mixedKind,
    at,
    origins,
  };
  await memories.keepExtracted(agentId, text, from);
  // Includes what an earlier attempt appended before it died.
  await memories.removeForgotten(agentId, path, readStored(found).text);
  const use = { agentId, audience, now: at, timezone: configuration.userTimezone };
  if (isOwn && changes.length > 0) await memories.keepChanges(use, changes, from);
  return text;
}

/** Removes memories that a user had the agent forget. Undefined when nothing is left. @param at epoch ms */
export async function withoutForgotten(
  agent: Pick<Agent, "memories">,
  { sessionKey, sessionId }: Pick<SessionState, "sessionKey" | "sessionId">,
  at: number,
  found: string | undefined,
): Promise<string | undefined> {
  if (found === undefined) return undefined;
  const memories = await agent.memories();
  const last = { at, sessionKey, sessionId };
  const { text, changes } = readStored(found);
  const left = (await memories.withoutForgotten(agentIdOf(sessionKey), text, last)).trim();
  // Without its replacement a memory stays.
  const lines = new Set(left.split("\n"));
  const kept = changes.filter((change) => change.text === undefined || lines.has(`- ${change.text}`));
  const all = [left, ...kept.map(changeLine)].filter((line) => line !== "").join("\n");
  return all === "" ? undefined : all;
}
