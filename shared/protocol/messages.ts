import type { EarlierContext } from "./context-objects.ts";

/**
 * Messages as they are stored and archived: three roles, in pi-ai's shapes. Declared here structurally, so
 * that only the agent function loads pi-ai.
 */
export interface TextBlock {
  type: "text";
  text: string;
  textSignature?: string;
}

export interface ThinkingBlock {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
  redacted?: boolean;
}

/**
 * An image: `data` is base64. A stored image has no `data`: `r2Key` is the key of the object with its bytes,
 * `size` their number.
 */
export interface ImageBlock {
  type: "image";
  mimeType: string;
  data?: string;
  r2Key?: string;
  size?: number;
}

/**
 * An attachment of a message; docs/reference/protocol.md, "Media attachment". `size` in bytes, `duration`
 * in seconds.
 */
export interface MediaAttachment {
  type: "image" | "audio" | "video" | "document";
  mimeType: string;
  /** Base64. */
  data?: string;
  r2Key?: string;
  url?: string;
  filename?: string;
  size?: number;
  duration?: number;
  /** Transcription of the audio or video. */
  transcription?: string;
}

/** An attachment whose bytes are stored in the bucket. */
export interface StoredMedia extends Omit<MediaAttachment, "data" | "url"> {
  r2Key: string;
  size: number;
  /** A voice message. */
  voice?: boolean;
}

export interface ToolCallBlock {
  type: "toolCall";
  /** The provider's id if it is unique in the conversation; else a UUIDv7 of this gateway (docs/decisions/ids-of-tool-calls.md). */
  id: string;
  /** The provider's id, when it differs from `id`: it may be empty or occur twice. */
  providerId?: string;
  /** As the model wrote it: the tool need not exist. */
  name: string;
  /** As the model wrote them: a JSON object, unless the model made a mistake. */
  arguments: unknown;
  thoughtSignature?: string;
}

/** Tokens of one model reply, as reported by the provider. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  /** US dollars, by pi-ai's price list at the time. Absent without a price, and in replies that earlier versions stored. */
  cost?: number;
}

/** Where a user's message came from. */
export interface MessageOrigin {
  /** The messenger; `client` for a client of the gateway; `cron`, `exec`, `heartbeat` or `session` for a message of the gateway. */
  channel: string;
  /** The messenger's account, and the conversation there: its kind (`dm`, `group`, …) and its id. */
  accountId?: string;
  peerKind?: string;
  peerId?: string;
  /** The writer's id on the messenger. */
  senderId?: string;
  /** The messenger's id of the message; for any other message, the id of the run that it started. */
  messageId: string;
}

export interface UserMessage {
  role: "user";
  content: string | (TextBlock | ImageBlock)[];
  /** Absent in messages that earlier versions stored, and in the summary of a compaction. */
  origin?: MessageOrigin;
  /** In the summary of a compaction: the objects of the archived part. */
  earlier?: EarlierContext;
  timestamp: number;
}

/** The input of a model's reply besides the messages before it. */
export interface ReplyContext {
  /** SHA-256 of the part of the system prompt that stays the same from call to call, in hex. */
  prompt: string;
  /** The rest of the system prompt: hosts and clock. The prompt that was sent is both parts in this order. */
  tail: string;
  /** Hash of the set of objects whose content was sent (`activeSetHash`). */
  active: string;
  /** The requested model, `provider/id`. The message's `model` is the one that the provider reports. */
  model: string;
}

export interface AssistantMessage {
  role: "assistant";
  content: (TextBlock | ThinkingBlock | ToolCallBlock)[];
  api?: string;
  provider?: string;
  model?: string;
  usage?: Usage;
  stopReason?: string;
  errorMessage?: string;
  /** Absent in replies that earlier versions stored. */
  context?: ReplyContext;
  timestamp: number;
}

export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextBlock | ImageBlock)[];
  isError: boolean;
  timestamp: number;
}

export type Message = UserMessage | AssistantMessage | ToolResultMessage;

/** The text of a message, blocks joined by a blank line; thinking, images and tool calls left out. */
export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  const texts: string[] = [];
  for (const block of message.content) if (block.type === "text" && block.text !== "") texts.push(block.text);
  return texts.join("\n\n");
}

/** The tool calls of a message, in the model's order. */
export function toolCallsOf(message: Message): ToolCallBlock[] {
  if (message.role !== "assistant") return [];
  return message.content.filter((block) => block.type === "toolCall");
}

/** A tool as models and clients see it; `inputSchema` is JSON Schema. */
export interface ToolDefinition {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}
