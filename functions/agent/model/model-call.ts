import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import type { AssistantMessage, Message, ToolDefinition } from "../../../shared/protocol/messages.ts";
import type { ThinkingLevel } from "../../../shared/protocol/schemas.ts";

export interface ModelCall {
  model: ModelConfiguration;
  thinkingLevel?: ThinkingLevel;
  /** Most tokens of the answer; absent: the model's own limit. */
  maxTokens?: number;
  systemPrompt: string;
  /** A whole transcript: every tool call is answered. Images are references. */
  messages: readonly Message[];
  tools: readonly ToolDefinition[];
  /** Lets providers keep a conversation's prompt cache together. */
  sessionId: string;
  signal: AbortSignal;
  timeoutMs: number;
  onText(text: string): void;
  /** The provider failed for a time and is asked again; the text so far does not count. Absent: nobody is told. */
  onRepeat?(repeat: Repeat): void;
}

/** Why a call is repeated, in one line, and how long it waits before. */
export interface Repeat {
  reason: string;
  /** Milliseconds. */
  waitMs: number;
}

/** A failure of the model is a value: it ends the turn with a message, not the function with an error. */
export type ModelOutcome =
  | { status: "answered"; message: AssistantMessage }
  | { status: "aborted" }
  /** `overflow`: the conversation is too long for the model. */
  | { status: "failed"; error: string; overflow: boolean };

/** Calls a model, streaming its text. Does not throw for what the provider or the configuration gets wrong. */
export type CallModel = (call: ModelCall) => Promise<ModelOutcome>;
