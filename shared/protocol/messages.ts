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
 * An attachment of a message; docs/protocol.md, "Media attachment". `size` in bytes, `duration`
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
  /** Made by this gateway. Of a call that was stored before, the provider's id. */
  id: string;
  /** The provider's id of the call, as it was said: it may be empty or occur twice. */
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
}

export interface UserMessage {
  role: "user";
  content: string | (TextBlock | ImageBlock)[];
  timestamp: number;
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
