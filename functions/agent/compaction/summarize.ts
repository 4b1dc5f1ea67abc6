import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { Spending } from "../../../shared/protocol/session-results.ts";
import { log } from "../../../shared/runtime/log.ts";
import { addSpending, nothingSpent, spendingOf } from "../../../shared/session/spending.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import {
  type EarlierConversation,
  readSummaryMessage,
  requestHeader,
  summaryHeader,
} from "../../../shared/session/summary-message.ts";
import type { Agent } from "../agent.ts";
import { messageCharacters, tokenRate } from "../context/context-size.ts";
import { shorten } from "../context/shorten.ts";
import type { Payment } from "../model/model-call.ts";
import { readMemories, readSummary, renderConversation, summaryPrompt } from "./compaction-prompts.ts";
import { joinMemories } from "./extract-memories.ts";
import { type KnownMemory, toStored } from "./known-memories.ts";
import { inChunks } from "./message-chunks.ts";

/** Max tokens of one answer: its summary and its memories. */
const maxAnswerTokens = 8192;

export interface SummaryRequest {
  state: SessionState;
  model: ModelConfiguration;
  payment: Payment;
  /** Tokens. */
  contextWindow: number;
  /** IANA name; the messages are dated in it. */
  timezone: string;
  /** The messages to summarize. A summary at their start is continued. */
  messages: readonly Message[];
  /** Max characters of the summary. */
  mostCharacters: number;
  withMemories: boolean;
  /** Memories that may already say what is found. */
  known: readonly KnownMemory[];
  /** For all model calls together. */
  timeoutMs: number;
  /** Aborts the summary. */
  interrupted: AbortSignal;
  /** Calls no model: the text is only a note with the number of messages. */
  silent: boolean;
}

/** `spent`: the spending of all model calls. */
export type SummaryOutcome = { spent: Spending } & (
  | {
      status: "done";
      /** Never empty: a note counts the messages that the model could not summarize. */
      text: string;
      /** The number of summarized messages, including those of a summary at their start. */
      count: number;
      memories?: string;
    }
  | { status: "interrupted" }
  /** The model does not answer at all, and `error` says why. A later attempt may succeed. */
  | { status: "unreachable"; error: string }
);

/**
 * Summarizes messages chunk by chunk, each a quarter of the window, together with the summary so far. A chunk that fails is
 * tried again with notes in place of its messages of more than half a window. If that fails too and the model answers a
 * test question, a note says how many messages could not be summarized. Does not throw when the model fails.
 */
export async function summarize(
  agent: Pick<Agent, "callModel">,
  request: SummaryRequest,
): Promise<SummaryOutcome> {
  const { messages, contextWindow, state, interrupted } = request;
  const rate = tokenRate(state.tokensPerCharacter);
  let spent = nothingSpent;
  const count = (added: Spending) => {
    spent = addSpending(spent, added);
  };
  const earlier = readSummaryMessage(messages[0]);
  let soFar = earlier?.text;
  const fresh = earlier ? messages.slice(1) : messages;
  let left = fresh.length;
  const found: string[] = [];
  const end = AbortSignal.any([interrupted, AbortSignal.timeout(request.timeoutMs)]);
  for (const chunk of request.silent ? [] : inChunks(fresh, contextWindow / 4 / rate)) {
    const whole = renderConversation(chunk, request.timezone);
    const small = renderConversation(
      chunk.map((message) => withoutOversized(message, contextWindow / 2 / rate)),
      request.timezone,
    );
    const answer =
      (await ask(agent, request, whole, soFar, end, count)) ??
      (await ask(agent, request, small, soFar, end, count));
    if (answer?.summary === undefined) break;
    soFar = shorten(answer.summary, request.mostCharacters);
    if (answer.memories) found.push(answer.memories);
    left -= chunk.length;
  }
  const total = fresh.length + (earlier?.count ?? 0);
  // If only the time ran out, the part that was summarized is used.
  const isDoubtful = left > 0 && !request.silent && !(end.aborted && left < fresh.length);
  const error = isDoubtful ? await whyUnreachable(agent, request, end) : undefined;
  if (interrupted.aborted) return { status: "interrupted", spent };
  if (error !== undefined) return { status: "unreachable", error, spent };
  const text = [soFar, left > 0 ? unsummarized(left) : undefined]
    .filter((part) => part !== undefined)
    .join("\n\n");
  return { status: "done", text, count: total, memories: joinMemories(found), spent };
}

const unsummarized = (count: number) =>
  `(${count} messages could not be summarized. They are in the archive.)`;

/**
 * Asks the model for one word, to distinguish a conversation that it cannot read from a provider that is down.
 * @returns the provider's error; undefined when the model answers
 */
async function whyUnreachable(
  agent: Pick<Agent, "callModel">,
  { state, model, timeoutMs, payment }: SummaryRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const outcome = await agent.callModel({
    payment,
    model,
    maxTokens: 256,
    systemPrompt: "Answer in one word.",
    messages: [{ role: "user", content: "Are you there?", timestamp: state.updatedAt }],
    tools: [],
    sessionId: state.sessionId,
    signal,
    timeoutMs,
    onText: () => {},
  });
  if (outcome.status === "answered") return undefined;
  return outcome.status === "failed" ? outcome.error : `LLM error: no summary within ${timeoutMs / 1000} s`;
}

/** Asks for the summary of one chunk. Undefined when the model failed. `count` receives the spending of its answer. */
async function ask(
  agent: Pick<Agent, "callModel">,
  { state, model, contextWindow, withMemories, known, timeoutMs, payment }: SummaryRequest,
  conversation: string,
  soFar: string | undefined,
  signal: AbortSignal,
  count: (spent: Spending) => void,
): Promise<{ summary: string; memories?: string } | undefined> {
  if (signal.aborted) return undefined;
  const { systemPrompt, text } = summaryPrompt(conversation, soFar, withMemories, known);
  const outcome = await agent.callModel({
    payment,
    model,
    maxTokens: Math.min(maxAnswerTokens, Math.floor(contextWindow / 4)),
    systemPrompt,
    messages: [{ role: "user", content: text, timestamp: state.updatedAt }],
    tools: [],
    sessionId: state.sessionId,
    signal,
    timeoutMs,
    onText: () => {},
  });
  if (outcome.status !== "answered") {
    const overflow = outcome.status === "failed" && outcome.overflow;
    log("compaction.no-summary", { sessionKey: state.sessionKey, status: outcome.status, overflow });
    return undefined;
  }
  count(spendingOf(outcome.message.usage));
  const answer = textOf(outcome.message);
  const summary = readSummary(answer);
  if (summary === undefined) return undefined;
  const memories = withMemories ? readMemories(answer) : undefined;
  return memories === undefined ? { summary } : { summary, memories: toStored(memories, known) };
}

function withoutOversized(message: Message, maxCharacters: number): Message {
  const characters = messageCharacters(message);
  if (characters <= maxCharacters) return message;
  const text = `(left out: ${characters} characters, too long to be summarized)`;
  const content = [{ type: "text", text } as const];
  switch (message.role) {
    case "assistant":
      return { ...message, content };
    case "toolResult":
      return { ...message, content };
    case "user":
      return { ...message, content };
  }
}

/**
 * The text of the message that replaces an earlier conversation.
 * @param maxCharacters longer texts are shortened, the request to at most a third of it
 */
export function writeSummary({ count, text, request }: EarlierConversation, maxCharacters: number): string {
  const start = summaryHeader(count);
  let end = "";
  if (request !== undefined) end = `\n\n${requestHeader}\n${shorten(request, Math.floor(maxCharacters / 3))}`;
  // With little room, the summary is more important than the request.
  if (start.length + end.length > maxCharacters / 2) end = "";
  return (start + shorten(text, Math.max(0, maxCharacters - start.length - end.length)) + end)
    .slice(0, maxCharacters)
    .toWellFormed();
}

/**
 * The last request of the user, unless the kept messages contain one.
 * @param removed the messages that are archived
 * @param kept the messages after them
 */
export function requestAmong(removed: readonly Message[], kept: readonly Message[]): string | undefined {
  if (kept.some((message) => message.role === "user")) return undefined;
  const last = removed.findLast((message) => message.role === "user");
  if (!last) return undefined;
  const summary = readSummaryMessage(last);
  return summary ? summary.request : textOf(last);
}
