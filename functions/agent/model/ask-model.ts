import type {
  Api,
  Model,
  Message as PiMessage,
  AssistantMessage as PiReply,
  Tool,
  TranscriptContext,
} from "@earendil-works/pi-ai";
import { toWire, type WireRules } from "../../../shared/objects/wire-messages.ts";
import type { AssistantMessage, PiUsage, ToolDefinition } from "../../../shared/protocol/messages.ts";
import { bedrockProvider, compatibleProvider } from "../../../shared/session/commands/model-choice.ts";
import { type Billed, billedFor, usageOf } from "./billing.ts";
import type { Deadline } from "./deadline.ts";
import type { FailedCall } from "./failure-sentence.ts";
import { lostCallText, readUnmarked, type UnmarkedReply } from "./markup/unmarked-reply.ts";
import type { ModelCall, ModelOutcome } from "./model-call.ts";
import { explainFailure, isUnsent, passingOf } from "./model-failure.ts";
import { providerWords } from "./provider-error-text.ts";
import { loadCallTools } from "./providers.ts";
import type { Resolved } from "./resolve-model.ts";
import { type ResponseWatch, watchResponses } from "./response-watch.ts";

/**
 * The outcome of one attempt. `passing`: the same call may succeed later; `waitMs`: the wait that the provider asks for;
 * `brief`: a short reason.
 */
export type Asked =
  | Exclude<ModelOutcome, { status: "failed" }>
  | (Extract<ModelOutcome, { status: "failed" }> & { passing?: { waitMs?: number; brief?: string } });

/** Calls the provider once. `call.messages` contain the images themselves. Does not throw when the provider fails. */
export async function askOnce(
  resolved: Resolved,
  call: ModelCall,
  deadline: Deadline,
): Promise<{ asked: Asked; billed: Billed }> {
  const { model } = resolved;
  const { normalizeContext, isContextOverflow } = await loadCallTools();
  const context = normalizeContext({
    systemPrompt: call.systemPrompt,
    messages: toWire(call.messages, model, rulesOf(model)) as PiMessage[],
    tools: call.tools.map(toTool),
  });
  const watch = watchResponses();
  try {
    const { message, hasLostCall } = await streamReply(resolved, call, context, deadline, watch);
    const overflow = isContextOverflow(message, model.contextWindow);
    const asked = outcomeOf(resolved, call, deadline, { message, hasLostCall, overflow, watch });
    return { asked, billed: billedFor(message, model, watch) };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    const asked = call.signal.aborted ? ({ status: "aborted" } as const) : failed(providerWords(words));
    return { asked, billed: isUnsent(words, watch) ? "nothing" : "unknown" };
  }
}

async function streamReply(
  { model, provider, apiKey, maxTokens: most }: Resolved,
  call: ModelCall,
  context: TranscriptContext,
  deadline: Deadline,
  watch: ResponseWatch,
): Promise<UnmarkedReply> {
  const maxTokens = call.maxTokens ?? most;
  const stream = provider.streamSimple(toServe(model), context, {
    apiKey,
    signal: deadline.signal,
    // Calls are repeated in model.ts, which reports each repeat.
    maxRetries: 0,
    // Longer than the deadline, so that the deadline ends the call. The clients' default is one minute.
    timeoutMs: call.timeoutMs + 1000,
    sessionId: call.sessionId,
    ...(call.cacheRetention ? { cacheRetention: call.cacheRetention } : {}),
    ...(takesFetch(model) ? { fetch: watch.fetch } : {}),
    ...(call.model.provider === bedrockProvider ? { onPayload: alternateTurns } : {}),
    ...(maxTokens ? { maxTokens } : {}),
    ...(call.thinkingLevel && call.thinkingLevel !== "off" ? { reasoning: call.thinkingLevel } : {}),
  });
  if (model.api === "openai-completions") return readUnmarked(stream, call.onText);
  for await (const event of stream) if (event.type === "text_delta") call.onText(event.delta);
  return { message: await stream.result(), hasLostCall: false };
}

function outcomeOf(
  { model }: Resolved,
  call: ModelCall,
  deadline: Deadline,
  { message, hasLostCall, overflow, watch }: UnmarkedReply & { overflow: boolean; watch: ResponseWatch },
): Asked {
  if (call.signal.aborted) return { status: "aborted" };
  if (deadline.passed) return failed(`the model did not answer within ${call.timeoutMs / 1000} s`);
  if (message.stopReason === "error" || message.stopReason === "aborted")
    return fault(message, overflow, watch, { chosen: call.model, address: model.baseUrl });
  // Some servers truncate a conversation that is too long and then have no room for an answer.
  if (message.stopReason === "length" && overflow)
    return { ...failed("the conversation fills the model's context window"), overflow: true };
  if (isSilent(message) && watch.refusal !== "")
    return failed(`the model refused to answer; ${providerWords(watch.refusal)}`);
  if (hasLostCall) return failed(lostCallText);
  return { status: "answered", message: toStored(message, usageOf(message, model, watch)) };
}

function fault(
  message: PiReply,
  overflow: boolean,
  watch: ResponseWatch,
  asked: Pick<FailedCall, "chosen" | "address">,
): Asked {
  const { status, unreachable } = watch;
  const { error, brief } = explainFailure(message, { ...asked, status, unreachable });
  const passing = overflow ? undefined : passingOf(message, watch);
  return { ...failed(error), overflow, ...(passing ? { passing: { ...passing, brief } } : {}) };
}

function isSilent({ content }: PiReply): boolean {
  return !content.some((block) => block.type === "toolCall" || (block.type === "text" && block.text !== ""));
}

/** Google's client always uses the global fetch, and Bedrock's client does not use fetch. */
function takesFetch({ api }: Model<Api>): boolean {
  return !api.startsWith("google") && !api.startsWith("bedrock");
}

/**
 * Adjusts a model's description for pi-ai's client. pi-ai keeps 4096 tokens of the window free when it limits an answer,
 * too much for a small window: the larger window given here limits that to a sixteenth. Images of tool results become a
 * user message after the results; servers whose turns must alternate need an assistant message in between.
 */
function toServe(model: Model<Api>): Model<Api> {
  const { contextWindow } = model;
  const widened = {
    ...model,
    contextWindow: contextWindow + Math.max(0, 4096 - Math.floor(contextWindow / 16)),
  };
  if (model.api !== "openai-completions" || !rulesOf(model).alternates) return widened;
  return { ...widened, compat: { ...model.compat, requiresAssistantAfterToolResult: true } };
}

function failed(error: string) {
  return { status: "failed", error: `LLM error: ${error}`, overflow: false } as const;
}

function toTool({ name, description, inputSchema }: ToolDefinition): Tool {
  return { name, description, parameters: inputSchema };
}

/** A reply as the transcript stores it: everything that the provider needs to see again, without the client's diagnostics. */
function toStored(message: PiReply, usage: PiUsage): AssistantMessage {
  const { content, api, provider, model, stopReason, timestamp } = message;
  return {
    role: "assistant",
    content: content as AssistantMessage["content"],
    ...{ api, provider, model, usage, stopReason, timestamp },
  };
}

interface Turn {
  role: string;
  content: unknown[];
}

/**
 * Joins neighbouring messages of the same role. Bedrock's Converse API refuses a conversation whose roles do not alternate:
 * for example a user message after an unanswered one, after a summary, or after tool results.
 * @param payload the input of ConverseStream; anything else is returned unchanged
 */
export function alternateTurns(payload: unknown): unknown {
  const messages = (payload as { messages?: unknown } | undefined)?.messages;
  if (!Array.isArray(messages) || !messages.every(isTurn)) return payload;
  const joined: Turn[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === message.role) last.content = [...last.content, ...message.content];
    else joined.push({ ...message });
  }
  return { ...(payload as object), messages: joined };
}

function isTurn(value: unknown): value is Turn {
  return (
    typeof value === "object" &&
    value !== null &&
    "role" in value &&
    "content" in value &&
    Array.isArray(value.content)
  );
}

/** Models of Mistral on any provider or server. */
const mistralModel = /(mis|minis|magis)tral|mixtral|codestral|devstral|pixtral|voxtral/i;

/** The wire rules of a model. An unknown server may run any model, so the stricter rule (alternating turns) applies to it. */
export function rulesOf({ api, provider, id }: Pick<Model<Api>, "api" | "provider" | "id">): WireRules {
  const isMistral = api === "mistral-conversations" || mistralModel.test(id);
  return { callId: callIdOf(api, isMistral), alternates: isMistral || provider === compatibleProvider };
}

function callIdOf(api: Api, isMistral: boolean): RegExp {
  switch (api) {
    case "mistral-conversations":
      return /^[A-Za-z0-9]{9}$/;
    case "openai-completions":
      return isMistral ? /^[A-Za-z0-9]{9}$/ : /^[A-Za-z0-9_-]{1,40}$/;
    case "openai-responses":
      // pi-ai joins the ids of the call and its item with a bar.
      return /^[A-Za-z0-9_-]{1,64}(\|fc_[A-Za-z0-9_-]{1,61})?$/;
    default:
      return /^[A-Za-z0-9_-]{1,64}$/;
  }
}
