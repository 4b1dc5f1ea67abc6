import { createHash } from "node:crypto";
import {
  type AssistantMessage,
  type ImageBlock,
  type Message,
  type TextBlock,
  textOf,
  toolCallsOf,
} from "../protocol/messages.ts";
import type { ExportFormat } from "../protocol/objects.ts";
import { redact, type SecretShape, secretShapes } from "../runtime/secret-shapes.ts";
import { argsDisplay } from "./toolcall.ts";
import { toTurnLines } from "./turns.ts";
import { repairTranscript, toWire } from "./wire-messages.ts";

/** A conversation to export. */
export interface ExportedConversation {
  agentId: string;
  sessionId: string;
  /** Absent for an archive without metadata. */
  sessionKey?: string;
  /** All messages, in order. */
  messages: readonly Message[];
  /** The parts that compactions archived: when (epoch ms), and how many messages precede its end. */
  parts: readonly { at: number; messages: number }[];
}

/**
 * How each format writes a conversation: values, one for each line of JSON. A new format needs a line here, and its name
 * in `exportFormats`.
 */
const formats: Record<ExportFormat, (conversation: ExportedConversation) => Iterable<object>> = {
  pi: ({ messages }) => messages,
  turns: toTurnLines,
  openai: toOpenAi,
  anthropic: toAnthropic,
  nexo: toNexo,
};

/**
 * The lines of JSON of a conversation in a format, without line ends.
 * @param redacts whether secrets are replaced by `[REDACTED:label]`
 */
export function* exportLines(
  conversation: ExportedConversation,
  format: ExportFormat,
  redacts: boolean,
): Generator<string> {
  for (const line of formats[format](conversation)) yield JSON.stringify(redacts ? redacted(line) : line);
}

/** What `--redact` replaces. */
const secrets: readonly SecretShape[] = [...secretShapes, ["home_path", /\/(?:home|Users)\/[^\s/]+/g]];

/** Names of members whose text is a secret, whatever it looks like. */
const secretName = /(?:pass(?:word|phrase|code|wort)|secret|token|api[ _-]?key)$/i;

/** A JSON value with the secrets in its strings and names replaced. @param name of the member whose value it is */
function redacted(value: unknown, name = ""): unknown {
  if (typeof value === "string")
    return secretName.test(name) && value !== "" ? "[REDACTED:password]" : redact(value, secrets);
  if (Array.isArray(value)) return value.map((one) => redacted(one, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [redact(key, secrets), redacted(one, key)]),
  );
}

/** Text in place of a stored image, whose bytes stay in the gateway's bucket. */
export function imageNote({ mimeType, r2Key, size }: ImageBlock): string {
  const facts = [mimeType, r2Key, size === undefined ? undefined : `${size} bytes`];
  return `[image: ${facts.filter((fact) => fact !== undefined).join(", ")}]`;
}

/** The texts of a message's content that are not blank, with notes for images. */
function textsOf(content: string | readonly (TextBlock | ImageBlock)[]): string[] {
  const texts =
    typeof content === "string"
      ? [content]
      : content.map((block) => (block.type === "text" ? block.text : imageNote(block)));
  return texts.map((text) => text.toWellFormed()).filter((text) => text.trim() !== "");
}

/** A message of OpenAI's chat completions. */
type ChatMessage =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: ChatCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

interface ChatCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** The rules of the strictest servers that speak this format: turns alternate, as Mistral's models require. */
const openAiRules = { callId: /^[A-Za-z0-9_-]{1,40}$/, alternates: true };

/** Messages for chat completions. Thoughts are left out, and so is the system prompt. */
function* toOpenAi({ messages }: ExportedConversation): Generator<ChatMessage> {
  const reader = { api: "openai-completions" };
  for (const message of toWire(repairTranscript(messages), reader, openAiRules)) {
    if (message.role === "user") yield { role: "user", content: textsOf(message.content).join("\n\n") };
    else if (message.role === "toolResult") {
      const content = textsOf(message.content).join("\n");
      yield { role: "tool", tool_call_id: message.toolCallId, content };
    } else yield* openAiReply(message);
  }
}

/** Empty for a reply that consists of thoughts. */
function openAiReply(message: AssistantMessage): ChatMessage[] {
  const text = textsOf(message.content.filter((block) => block.type === "text")).join("\n\n");
  const calls = toolCallsOf(message).map(
    ({ id, name, arguments: args }): ChatCall => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }),
  );
  if (text === "" && calls.length === 0) return [];
  const content = text === "" ? null : text;
  return [{ role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

type AnthropicText = { type: "text"; text: string };
type AnthropicBlock =
  | AnthropicText
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content: AnthropicText[]; is_error?: true };

/** A message of Anthropic's Messages API. */
interface AnthropicMessage {
  role: "user" | "assistant";
  content: AnthropicBlock[];
}

const anthropic = { api: "anthropic-messages", provider: "anthropic" };
const anthropicRules = { callId: /^[A-Za-z0-9_-]{1,64}$/, alternates: true };

/** Messages for the Messages API. Only thoughts that the API signed are kept. The system prompt is left out. */
function* toAnthropic({ messages }: ExportedConversation): Generator<AnthropicMessage> {
  let open: AnthropicMessage | undefined;
  for (const message of toWire(repairTranscript(messages), anthropic, anthropicRules)) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = anthropicBlocks(message);
    if (content.length === 0) continue;
    // The results of one reply belong in one message.
    if (open?.role === role) {
      open.content.push(...content);
      continue;
    }
    if (open) yield open;
    open = { role, content };
  }
  if (open) yield open;
}

function anthropicBlocks(message: Message): AnthropicBlock[] {
  if (message.role === "user") return anthropicTexts(message.content);
  if (message.role === "assistant") return message.content.flatMap((block) => replyBlock(block, message.api));
  const { toolCallId, content, isError } = message;
  const failed = isError ? ({ is_error: true } as const) : {};
  return [{ type: "tool_result", tool_use_id: toolCallId, content: anthropicTexts(content), ...failed }];
}

function anthropicTexts(content: Parameters<typeof textsOf>[0]): AnthropicText[] {
  return textsOf(content).map((text) => ({ type: "text", text }));
}

function replyBlock(block: AssistantMessage["content"][number], api: string | undefined): AnthropicBlock[] {
  if (block.type === "text") return anthropicTexts([block]);
  if (block.type === "toolCall")
    return [{ type: "tool_use", id: block.id, name: block.name, input: block.arguments }];
  const { thinking, thinkingSignature: signature, redacted: isRedacted } = block;
  if (api !== anthropic.api || !signature) return [];
  return isRedacted
    ? [{ type: "redacted_thinking", data: signature }]
    : [{ type: "thinking", thinking, signature }];
}

/** A line of a transcript of nexo-rs. Its readers skip types that they do not know, and lines with another `message_id`. */
type NexoLine =
  | { type: "session"; version: 1; id: string; timestamp: string; agent_id: string; source_plugin: string }
  | NexoEntry
  /** A compaction removed the messages before this line from what the model saw. */
  | { type: "compact_boundary"; timestamp: string; messages: number };

interface NexoEntry {
  type: "entry";
  timestamp: string;
  role: "user" | "assistant" | "tool";
  content: string;
  /** A UUID. */
  message_id?: string;
  /** The messenger's own id of the message, if it is no UUID. */
  external_id?: string;
  source_plugin: string;
  sender_id?: string;
}

/** The transcript of a session: a header, a line for each message, and a line at each compaction. */
function* toNexo({ messages, parts, agentId, sessionId }: ExportedConversation): Generator<NexoLine> {
  const [first] = messages;
  yield {
    type: "session",
    version: 1,
    id: uuidOf(sessionId),
    timestamp: isoTime(first?.timestamp ?? 0),
    agent_id: agentId,
    source_plugin: first ? channelOf(first) : "",
  };
  const boundaries = new Map(parts.map((part) => [part.messages, part.at]));
  for (const [i, message] of messages.entries()) {
    yield nexoEntry(message);
    const at = boundaries.get(i + 1);
    if (at !== undefined) yield { type: "compact_boundary", timestamp: isoTime(at), messages: i + 1 };
  }
}

function nexoEntry(message: Message): NexoEntry {
  const timestamp = isoTime(message.timestamp);
  if (message.role === "toolResult") {
    const content = textsOf(message.content).join("\n");
    return { type: "entry", timestamp, role: "tool", content, source_plugin: message.toolName };
  }
  if (message.role === "assistant") {
    const calls = toolCallsOf(message).map((call) => argsDisplay(call.name, call.arguments));
    const content = [textOf(message), ...calls].filter((text) => text !== "").join("\n");
    return { type: "entry", timestamp, role: "assistant", content, source_plugin: "" };
  }
  const { origin } = message;
  const content = textsOf(message.content).join("\n\n");
  return {
    ...{ type: "entry", timestamp, role: "user", content },
    ...(origin ? nexoIds(origin.messageId) : {}),
    source_plugin: channelOf(message),
    ...(origin?.senderId === undefined ? {} : { sender_id: origin.senderId }),
  };
}

function channelOf(message: Message): string {
  return (message.role === "user" && message.origin?.channel) || "";
}

function nexoIds(messageId: string): Pick<NexoEntry, "message_id" | "external_id"> {
  const id = uuidOf(messageId);
  return { message_id: id, ...(id === messageId ? {} : { external_id: messageId }) };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The text itself if it is a UUID; otherwise the UUID of version 8 derived from it. */
function uuidOf(text: string): string {
  if (uuid.test(text)) return text;
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
