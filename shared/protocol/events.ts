import type { ApprovalRequested, ApprovalResolved } from "./approvals.ts";
import type { Peer } from "./channel-accounts.ts";
import type { LastExtraction } from "./memory-schemas.ts";
import type { AssistantMessage, MediaAttachment, UserMessage } from "./messages.ts";
import type { Spending } from "./session-results.ts";

/** Events this gateway may send, in the order in which `hello-ok` lists them. */
export const events = [
  ...(["chat", "tool.invoke", "tool.cancel", "tool.result", "logs.get", "node.probe"] as const),
  ...(["transfer.send", "transfer.receive", "transfer.start", "transfer.end", "transfer.cancel"] as const),
  ...(["channel.outbound", "channel.typing", "channel.mark"] as const),
  ...(["connection.ended", "node.ping", "node.changed", "memory.extracted"] as const),
  ...(["approval.requested", "approval.resolved"] as const),
  ...(["budget.warning", "budget.reached", "agent.changed"] as const),
  "session.changed",
] as const;

export type EventName = (typeof events)[number];

interface OfRun {
  runId: string;
  sessionKey: string;
}

/** The next piece of a streamed reply; an extension of GSV's protocol. */
export interface ChatDelta extends OfRun {
  state: "delta";
  text: string;
  /** Number of the delta in its model call, from 0 for each client; starts at 0 again with each attempt and each retry. */
  seq: number;
  /** Number of the model call in the run. */
  step: number;
  /** Incremented when a crashed step is repeated. The reply's text then starts from the beginning. */
  attempt: number;
}

/**
 * A complete reply: `partial` has text and tool calls, `calls` (an extension) tool calls alone, `final` the
 * answer.
 */
export interface ChatReply extends OfRun {
  state: "partial" | "calls" | "final";
  message: AssistantMessage;
  /** The message was too large for an event; `message` is a placeholder. */
  truncated?: boolean;
  /** With `final`: the turn's spending, and the use of the context window in tokens. An extension of GSV's protocol. */
  turn?: Spending & { contextTokens?: number; contextWindow?: number };
}

/**
 * The model's provider failed temporarily, or the step was interrupted; the model call is repeated after `waitMs` milliseconds. Discard the text streamed
 * by the failed call. An extension of GSV's protocol.
 */
export interface ChatRetry extends OfRun {
  state: "retry";
  /** At most 300 characters. */
  reason: string;
  waitMs: number;
  step: number;
  attempt: number;
}

/** The run failed or was stopped. */
export interface ChatError extends OfRun {
  state: "error";
  error: string;
}

/**
 * A run begins with this message, whoever wrote it: `message.origin` says where. An extension of GSV's protocol, only for
 * clients with `followCapability`. It may come twice.
 */
export interface ChatUser extends OfRun {
  state: "user";
  message: UserMessage;
  /** The message's number in the conversation, as in `session.preview`. */
  seq: number;
}

/** One step of a run. */
export type ChatEvent = ChatUser | ChatDelta | ChatRetry | ChatReply | ChatError;

/** The result of a tool call that a session's model made. */
export interface RunToolResult extends OfRun {
  callId: string;
  tool: string;
  /** The call's arguments as the model wrote them. GSV's gateway does not send them. Empty when they made the event too large. */
  args?: unknown;
  isError: boolean;
  /** At most 500 characters; for a command, the start of its output. */
  preview: string;
  /** Present for a command that has ended: how it failed, if it did, and how long it took. An extension of GSV's protocol. */
  command?: { failure?: string; durationMs?: number };
}

/** The result of a client's `tool.request`. It has no run. */
export interface RequestedToolResult {
  runId?: undefined;
  sessionKey: string;
  /** The client's id of the call. */
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
  /** The conversation that the message belongs to; absent for a message outside of any. */
  sessionKey?: string;
  message: { id: string; text: string; replyToId?: string; media?: OutboundMedia[] };
}

interface OfTransfer {
  transferId: number;
  path: string;
}

/** What the agent shows on a message: that it was accepted, and how its run has ended. */
export type Mark = "accepted" | "answered" | "failed";

/** A rule of `budgets.rules`, and what is used of it. μ$, or tokens for a rule that limits them. */
export interface BudgetNews {
  ruleId: string;
  /** The sum that it limits, such as `all` or `kind:heartbeat`. */
  scope: string;
  used: number;
  limit: number;
  /** `YYYY-MM-DD`. */
  day: string;
}

/** What an agent itself has changed for later runs. */
export interface AgentChange extends OfRun {
  agentId: string;
  /** `job`: it was created. `file`: SOUL.md, AGENTS.md or a file below `skills/` was written or deleted. */
  kind: "job" | "file";
  /** The job's name, or the file's path as the agent wrote it. */
  name: string;
}

/** A run of a session has begun or ended, it was reset, or its label was changed. Times are epoch ms. */
export interface SessionChanged {
  sessionKey: string;
  /** Another one than before: the session was reset. */
  sessionId: string;
  label?: string;
  lastActiveAt: number;
  isProcessing: boolean;
}

interface EventTable {
  /** To clients. */
  chat: ChatEvent;
  /**
   * To a node. `tool` is the tool's name on the node. `conversation` is the same for all calls whose results the model still
   * reads together; absent for a client's call.
   */
  "tool.invoke": { callId: string; tool: string; args: Record<string, unknown>; conversation?: string };
  /** To a node with the capability `tool.cancel`: the gateway no longer waits for this call. */
  "tool.cancel": { callId: string };
  /** To clients. */
  "tool.result": RunToolResult | RequestedToolResult;
  /** To a node. `lines`: number of newest lines requested. */
  "logs.get": { callId: string; lines: number };
  /** To a node: asks which of these programs it has. `timeoutMs`: time limit for the answer. */
  "node.probe": { probeId: string; kind: "bins"; bins: string[]; timeoutMs?: number };
  /** To the source of a transfer: asks for the size of the file. This and the next four go only to a node with `transferCapability`, or to the client that requested the transfer. */
  "transfer.send": OfTransfer;
  /** To the destination: asks whether it accepts the file. */
  "transfer.receive": OfTransfer & { size: number; mime?: string };
  /** To the source: asks it to store the parts from number `stored` on. */
  "transfer.start": OfTransfer & { size: number; partBytes: number; stored: number };
  /** To the destination: all parts are stored and can be fetched. `sha256` of the whole file, in hex. */
  "transfer.end": OfTransfer & { size: number; partBytes: number; sha256: string };
  /** To both: the transfer has failed; they remove partial files. */
  "transfer.cancel": OfTransfer & { reason: string };
  /** To a bridge. */
  "channel.outbound": ChannelOutbound;
  /** To a bridge. `typing`: whether the agent is writing an answer. */
  "channel.typing": { channel: string; accountId: string; peer: Peer; sessionKey?: string; typing: boolean };
  /** To a bridge: shows a mark on a message of the conversation, in place of the one before. */
  "channel.mark": { channel: string; accountId: string; peer: Peer; messageId: string; mark: Mark };
  /** To a peer, before the gateway closes its socket: the peer must not connect again. */
  "connection.ended": { reason: "superseded" | "revoked" };
  /** To a node, when another process requests its id: the node answers with `node.pong`. */
  "node.ping": Record<string, never>;
  /** To clients: a node has connected, or its connection has ended. `tools`: the names of its tools for clients. */
  "node.changed": { nodeId: string; connected: boolean; tools: string[] };
  /** To clients: an extraction of memories has ended, or its first attempt has failed and others follow. */
  "memory.extracted": LastExtraction;
  /** To clients: a call waits for the owner's answer. */
  "approval.requested": ApprovalRequested;
  /** To clients: a request was answered, or ended without an answer. */
  "approval.resolved": ApprovalResolved;
  /** To clients, once for each rule and day: a limit is near (`budgets.warnAt`). */
  "budget.warning": BudgetNews;
  /** To clients: a limit has refused a call. */
  "budget.reached": BudgetNews;
  /** To clients. */
  "agent.changed": AgentChange;
  /** To clients with `followCapability`. */
  "session.changed": SessionChanged;
}

/** The payload of every event. */
export type Events = TotalOver<EventName, EventTable>;

/** `Table`, if it has exactly one entry for each of `Names`. A missing or extra entry is a type error. */
export type TotalOver<
  Names extends PropertyKey,
  Table extends Record<Names, unknown> & Record<Exclude<keyof Table, Names>, never>,
> = Table;
