import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import type { BudgetRequester } from "../../../shared/protocol/approvals.ts";
import type { AssistantMessage, Message, ToolDefinition } from "../../../shared/protocol/messages.ts";
import type { ThinkingLevel } from "../../../shared/protocol/schemas.ts";
import type { CacheRetention } from "../../../shared/spend/price.ts";
import type { Occasion, SessionAccount } from "../../../shared/spend/session-account.ts";

/** Who pays for a model call, and for all attempts of it. */
export interface Payment {
  account: SessionAccount;
  occasion: Omit<Occasion, "model">;
}

export interface ModelCall {
  payment: Payment;
  model: ModelConfiguration;
  thinkingLevel?: ThinkingLevel;
  /** Max tokens of the answer; absent: the model's own limit. */
  maxTokens?: number;
  systemPrompt: string;
  /** A whole transcript: every tool call has a result. Images are references. */
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Lets providers find the prompt cache of the conversation. */
  sessionId: string;
  /** Absent: pi-ai's default, which is short. */
  cacheRetention?: CacheRetention;
  signal: AbortSignal;
  timeoutMs: number;
  /** When the invocation began, epoch ms; only for its first call. */
  wokenAt?: number;
  onText(text: string): void;
  /** Reports that the call is repeated after a temporary failure. The text so far is void. */
  onRepeat?(repeat: Repeat): void;
}

/** Why a call is repeated, in one line, and the wait before the repeat. */
export interface Repeat {
  reason: string;
  /** Milliseconds. */
  waitMs: number;
}

/** A failure of the model is a value, not an exception: it ends the turn with a message. */
export type ModelOutcome =
  | { status: "answered"; message: AssistantMessage }
  | { status: "aborted" }
  /** `overflow`: the conversation is too long for the model. `ask`: a budget refuses it unless the owner allows more. */
  | { status: "failed"; error: string; overflow: boolean; ask?: BudgetRequester };

/** Calls a model, streaming its text. Does not throw for faults of the provider or the configuration. */
export type CallModel = (call: ModelCall) => Promise<ModelOutcome>;
