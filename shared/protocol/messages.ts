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
  /** The provider's id, where it names this call alone; else a UUIDv7 of this gateway (docs/decisions/ids-of-tool-calls.md). */
  id: string;
  /** The provider's id as it was said, where it is not `id`: it may be empty or occur twice. */
  providerId?: string;
  /** As the model said it: there need not be such a tool. */
  name: string;
  /** As the model said them: a JSON object, unless it erred. */
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
  /**
   * US dollars, by the price list of pi-ai at the time, otherwise the total that the server reports. In replies of earlier
   * versions the total alone, absent when it is unknown.
   */
  cost?: UsageCost | number;
  /** The price is unknown: `cost` is zero. */
  unpriced?: true;
}

/** US dollars, as in pi-ai's messages. */
export interface UsageCost {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/** The usage that replies are stored with. */
export interface PiUsage extends Usage {
  cost: UsageCost;
}

/** Where a user's message came from. */
export interface MessageOrigin {
  /** The messenger; `client` for a client of the gateway; `cron`, `exec`, `heartbeat` or `session` for what the gateway sent. */
  channel: string;
  /** The messenger's account, and the conversation there: its kind (`dm`, `group`, …) and its id. */
  accountId?: string;
  peerKind?: string;
  peerId?: string;
  /** The writer's id on the messenger. */
  senderId?: string;
  /** The messenger's id of the message; of any other message, the id of the run that it began. */
  messageId: string;
}

export interface UserMessage {
  role: "user";
  content: string | (TextBlock | ImageBlock)[];
  /** Absent in a message that was stored before this was, and in the summary of a compaction. */
  origin?: MessageOrigin;
  /** What the model reads after the content: the time and what has changed. Stored as it was sent. */
  tail?: string;
  /** In the summary of a compaction: what it keeps of the objects of the archived part. */
  earlier?: EarlierContext;
  timestamp: number;
}

/** What a model's reply was made from, besides the messages before it. */
export interface ReplyContext {
  /** SHA-256 of the system prompt, in hex. */
  prompt: string;
  /** In a reply of an earlier version: the end of the system prompt, which the hash leaves out. Now empty: that version requires it. */
  tail?: string;
  /** Hash of what makes the prompt invalid at once when it changes: rights, tools, skills, model, base prompt. Absent: it is not kept. */
  basis?: string;
  /** Present when the provider was asked to cache the request for an hour. */
  cached?: "long";
  /** Hash of the set of objects whose content was sent (`activeSetHash`). */
  active: string;
  /** The model that was asked, `provider/id`. `model` of the message is what the provider reports. */
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
  /** Absent in a reply that was stored before this was. */
  context?: ReplyContext;
  timestamp: number;
}

/** Whether a model wrote a message, as opposed to the gateway's marks of missing answers. */
export function isReply(message: Message): message is AssistantMessage & { context: ReplyContext } {
  return message.role === "assistant" && message.context !== undefined;
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
