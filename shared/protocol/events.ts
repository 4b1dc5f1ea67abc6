import type { Peer } from "./channel-accounts.ts";
import type { AssistantMessage, MediaAttachment } from "./messages.ts";
import type { TotalOver } from "./total.ts";

/** Events this gateway may send, in the order in which `hello-ok` lists them. */
export const events = [
  ...(["chat", "tool.invoke", "tool.result", "logs.get"] as const),
  ...(["channel.outbound", "channel.typing"] as const),
] as const;

export type EventName = (typeof events)[number];

interface OfRun {
  runId: string;
  sessionKey: string;
}

/** More text of a reply that is being written; an extension of GSV's protocol. */
export interface ChatDelta extends OfRun {
  state: "delta";
  text: string;
  /** Counts the deltas of one model call; starts at 0 again with each attempt. */
  seq: number;
  /** Which of the run's model calls it belongs to. */
  step: number;
  /** Grows when a crashed step is repeated: the reply's text starts over. */
  attempt: number;
}

/**
 * A complete reply: `partial` has text and tool calls, `calls` (an extension) tool calls alone, `final` the
 * answer.
 */
export interface ChatReply extends OfRun {
  state: "partial" | "calls" | "final";
  message: AssistantMessage;
  /** The message was too large for an event: `message` only says so. */
  truncated?: boolean;
}

/** The run has failed, or was stopped. */
export interface ChatError extends OfRun {
  state: "error";
  error: string;
}

/** One step of a run. */
export type ChatEvent = ChatDelta | ChatReply | ChatError;

/** The result of a tool call that a session's model made. */
export interface RunToolResult extends OfRun {
  callId: string;
  tool: string;
  /** Sent by this gateway; GSV's leaves it out. Empty where it made the event too large. */
  args?: Record<string, unknown>;
  isError: boolean;
  /** At most 500 characters. */
  preview: string;
}

/** The result of a tool call that a client made by `tool.request`. It has no run. */
export interface RequestedToolResult {
  runId?: undefined;
  sessionKey: string;
  /** The id that the client gave the call. */
  callId: string;
  tool: string;
  isError: boolean;
  result?: unknown;
  error?: string;
}

/** A file of a channel message. `url` answers GET for five minutes. `size` in bytes. */
export interface OutboundMedia {
  type: MediaAttachment["type"];
  mimeType: string;
  filename: string;
  size: number;
  url: string;
}

/** A message for a bridge to send. */
export interface ChannelOutbound {
  channel: string;
  accountId: string;
  peer: Peer;
  message: { id: string; text: string; replyToId?: string; media?: OutboundMedia[] };
}

interface EventTable {
  /** To clients. */
  chat: ChatEvent;
  /** To a node. `tool` is the name by which the node knows it. */
  "tool.invoke": { callId: string; tool: string; args: Record<string, unknown> };
  /** To clients. */
  "tool.result": RunToolResult | RequestedToolResult;
  /** To a node. `lines`: how many of the newest are asked for. */
  "logs.get": { callId: string; lines: number };
  /** To a bridge. */
  "channel.outbound": ChannelOutbound;
  /** To a bridge. `typing`: whether an answer is being written. */
  "channel.typing": { channel: string; accountId: string; peer: Peer; typing: boolean };
}

/** The payload of every event: the one place where it is declared. */
export type Events = TotalOver<EventName, EventTable>;
