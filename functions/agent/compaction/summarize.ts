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
import { readMemories, readSummary, renderConversation, summaryPrompt } from "./compaction-prompts.ts";
import { joinMemories } from "./extract-memories.ts";
import { inChunks } from "./message-chunks.ts";

/** Most tokens of one answer: its summary and its memories. */
const maxAnswerTokens = 8192;

export interface SummaryRequest {
  state: SessionState;
  model: ModelConfiguration;
  /** Tokens. */
  contextWindow: number;
  /** What is to be summarized. A summary at its start is continued. */
  messages: readonly Message[];
  /** Most characters that the summary is to have. */
  mostCharacters: number;
  withMemories: boolean;
  /** For all model calls together. */
  timeoutMs: number;
  /** Ends the whole undertaking. */
  interrupted: AbortSignal;
  /** Asks no model. */
  silent: boolean;
}

/** `spent`: what the calls took. */
export type SummaryOutcome = { spent: Spending } & (
  | {
      status: "done";
      /** Always something: for what the model could not summarize, a note with the number of messages. */
      text: string;
      /** Messages that the text stands for, those of a summary at their start included. */
      count: number;
      memories?: string;
    }
  | { status: "interrupted" }
  /** The model answers nothing at all, and `error` says why: later it may. */
  | { status: "unreachable"; error: string }
);

/**
 * Summarizes messages chunk after chunk, each a quarter of the window, with the summary so far. A chunk that fails is
 * tried again without its messages of more than half a window, for which a note stands. If that fails too, while the model
 * does answer something else, a note says how many messages could not be summarized. Does not throw for what the model
 * does.
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
    const whole = renderConversation(chunk);
    const small = renderConversation(
      chunk.map((message) => withoutOversized(message, contextWindow / 2 / rate)),
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
  // Where only the time was too short for all of it, what was summarized counts.
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
 * Asks the model for a word, to tell a conversation that it cannot read from a provider that is down. Undefined when it
 * answers.
 */
async function whyUnreachable(
  agent: Pick<Agent, "callModel">,
  { state, model, timeoutMs }: SummaryRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const outcome = await agent.callModel({
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

/** Undefined when the model failed. `count` is told what its answer took. */
async function ask(
  agent: Pick<Agent, "callModel">,
  { state, model, contextWindow, withMemories, timeoutMs }: SummaryRequest,
  conversation: string,
  soFar: string | undefined,
  signal: AbortSignal,
  count: (spent: Spending) => void,
): Promise<{ summary: string; memories?: string } | undefined> {
  if (signal.aborted) return undefined;
  const { systemPrompt, text } = summaryPrompt(conversation, soFar, withMemories);
  const outcome = await agent.callModel({
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
  return summary === undefined
    ? undefined
    : { summary, memories: withMemories ? readMemories(answer) : undefined };
}

function withoutOversized(message: Message, most: number): Message {
  const characters = messageCharacters(message);
  if (characters <= most) return message;
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
 * @param most characters; longer texts are shortened, the request to a third at most
 */
export function writeSummary({ count, text, request }: EarlierConversation, most: number): string {
  const start = summaryHeader(count);
  let end = "";
  if (request !== undefined) end = `\n\n${requestHeader}\n${shorten(request, Math.floor(most / 3))}`;
  // Where there is hardly any room, the summary itself is what counts.
  if (start.length + end.length > most / 2) end = "";
  return (start + shorten(text, Math.max(0, most - start.length - end.length)) + end)
    .slice(0, most)
    .toWellFormed();
}

/**
 * The last request of the user, unless the messages that stay show it.
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
