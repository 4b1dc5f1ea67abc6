import { createHash } from "node:crypto";
import { argsDisplay } from "../objects/toolcall.ts";
import { type Message, textOf, toolCallsOf } from "../protocol/messages.ts";
import type { ExportedConversation } from "./adapter.ts";
import { textsOf } from "./chat-texts.ts";

/** The first line of a transcript. */
interface Header {
  type: "session";
  version: 1;
  /** A UUID. */
  id: string;
  /** ISO 8601, of the first message. */
  timestamp: string;
  agent_id: string;
  /** The channel of the first message. */
  source_plugin: string;
}

interface Entry {
  type: "entry";
  timestamp: string;
  role: "user" | "assistant" | "tool";
  content: string;
  /** A UUID: its readers skip a line with any other id. */
  message_id?: string;
  /** The messenger's own id of the message. */
  external_id?: string;
  source_plugin: string;
  sender_id?: string;
}

/** A compaction took the messages before this line out of what the model saw. Readers skip types that they do not know. */
interface Boundary {
  type: "compact_boundary";
  timestamp: string;
  /** Number of messages before it. */
  messages: number;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The transcript of a session in the lines that nexo-rs writes: a header, an entry for each message, a line at each compaction. */
export function* toNexo(conversation: ExportedConversation): Generator<Header | Entry | Boundary> {
  const { messages, parts, agentId, sessionId } = conversation;
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
    yield toEntry(message);
    const at = boundaries.get(i + 1);
    if (at !== undefined) yield { type: "compact_boundary", timestamp: isoTime(at), messages: i + 1 };
  }
}

function toEntry(message: Message): Entry {
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
    ...(origin ? idsOf(origin.messageId) : {}),
    source_plugin: channelOf(message),
    ...(origin?.senderId === undefined ? {} : { sender_id: origin.senderId }),
  };
}

function channelOf(message: Message): string {
  return (message.role === "user" && message.origin?.channel) || "";
}

function idsOf(messageId: string): Pick<Entry, "message_id" | "external_id"> {
  const id = uuidOf(messageId);
  return { message_id: id, ...(id === messageId ? {} : { external_id: messageId }) };
}

/** The text itself where it is a UUID; else a UUID of version 8 made from it, always the same one. */
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
