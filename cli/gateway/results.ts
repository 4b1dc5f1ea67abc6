import type { AccountStatus } from "../../shared/channels/account-status.ts";
import type { Started } from "../../shared/channels/accounts.ts";
import type { AssistantMessage, Message, ToolDefinition } from "../../shared/protocol/messages.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import type { ResetPolicy, SessionSettingsPatch } from "../../shared/protocol/schemas.ts";

/** Tokens of a session so far, as the provider counts them. */
export interface TokenCount {
  input: number;
  output: number;
  total: number;
}

/** A stored access token without its secret. Times are epoch ms. */
export interface TokenEntry {
  id: string;
  name: string;
  scopes: Scope[];
  createdAt: number;
  lastUsedAt?: number;
  /** What a bridge's token is bound to. */
  channel?: string;
  accountId?: string;
}

/** Somebody on a channel who asks to be let in. Times are epoch ms. */
export interface PairEntry {
  channel: string;
  accountId: string;
  senderId: string;
  senderName?: string;
  requestedAt: number;
  expiresAt: number;
  /** The beginning of what they wrote; absent when it was too long to be kept. */
  message?: string;
}

/** An account on a messaging platform. Times are epoch ms; `connectedAt` is 0 where it is not known. */
export interface ChannelEntry {
  channel: string;
  accountId: string;
  connectedAt: number;
  lastMessageAt?: number;
  stopped?: boolean;
  /** It is a bridge's; `connectedAt` is 0 while that is away. */
  bridge?: boolean;
}

interface AccountResult {
  ok: boolean;
  channel: string;
  accountId: string;
}

/** Answer of `chat.send`: a run was started or queued, or the message was handled without the model. */
export type ChatSendResult =
  | { status: "started"; runId: string; queued?: boolean }
  | { status: "command"; command: string; response?: string; error?: string }
  | { status: "directive-only"; response?: string; directives?: unknown };

/** Results of the methods that the command line calls. Times are epoch ms, sizes bytes. */
export interface Results {
  "chat.send": ChatSendResult;
  "tools.list": { tools: ToolDefinition[] };
  "tool.invoke": { result: unknown };
  "logs.get": { nodeId: string; lines: string[]; count: number; truncated: boolean };
  "config.get": { path: string; value: unknown } | { config: Record<string, unknown> };
  "config.set": { ok: boolean; path: string };
  "sessions.list": {
    sessions: { sessionKey: string; createdAt: number; lastActiveAt: number; label?: string }[];
    count: number;
  };
  "session.get": {
    sessionId: string;
    sessionKey: string;
    createdAt: number;
    updatedAt: number;
    messageCount: number;
    tokens: TokenCount;
    settings: SessionSettingsPatch;
    resetPolicy: ResetPolicy;
    lastResetAt?: number;
    previousSessionIds: string[];
    label?: string;
  };
  "session.stats": {
    sessionKey: string;
    sessionId: string;
    messageCount: number;
    tokens: TokenCount;
    createdAt: number;
    updatedAt: number;
    uptime: number;
    isProcessing: boolean;
    queueSize: number;
  };
  "session.patch": { ok: boolean };
  "session.reset": {
    ok: boolean;
    sessionKey: string;
    oldSessionId: string;
    newSessionId: string;
    archivedMessages: number;
    archivedTo?: string;
    tokensCleared: TokenCount | number;
    mediaDeleted: number;
  };
  "session.compact": { ok: boolean; trimmedMessages: number; keptMessages: number; archivedTo?: string };
  "session.preview": {
    sessionKey: string;
    sessionId: string;
    messageCount: number;
    messages: Message[];
  };
  "session.history": { sessionKey: string; currentSessionId: string; previousSessionIds: string[] };
  "session.transcript": {
    sessionId: string;
    agentId: string;
    parts: string[];
    archivedTo?: string;
    metadata?: Record<string, string>;
    messages: Message[];
    piece?: { text: string; isLast: boolean };
    next?: string;
  };
  "workspace.list": { path: string; files: string[]; directories: string[] };
  "workspace.read": { path: string; content: string; size: number; lastModified?: number | string };
  "workspace.write": { path: string; size: number; written: boolean };
  "workspace.delete": { path: string; deleted: boolean };
  "agent.init": { agentId: string; written: string[] };
  "channels.list": { channels: ChannelEntry[]; count: number };
  "channel.start": AccountResult & Partial<Started>;
  "channel.stop": AccountResult;
  "channel.status": { channel: string; accounts: AccountStatus[] };
  "channel.remove": { removed: boolean; channel: string; accountId: string };
  "channel.test": AccountResult & { error?: string };
  "pair.list": { pairs: Record<string, PairEntry> };
  "pair.approve": { approved: true; senderId: string; senderName?: string };
  "pair.reject": { rejected: true; senderId: string };
  "token.create": TokenEntry & { token: string };
  "token.list": { tokens: TokenEntry[] };
  "token.revoke": { revoked: boolean; id: string };
}

/** Payload of the event `chat`: one step of a run. */
export interface ChatEvent {
  runId: string;
  sessionKey: string;
  state: "delta" | "partial" | "calls" | "final" | "error";
  /** delta: the text added. */
  text?: string;
  /** delta: its number; starts at 0 again with each attempt. */
  seq?: number;
  /** delta: which of the run's model calls it belongs to. */
  step?: number;
  /** Grows when a crashed step is repeated: the reply's text starts over. */
  attempt?: number;
  message?: AssistantMessage;
  /** The message was too large for an event: it only says so. */
  truncated?: boolean;
  error?: string;
}

/** Payload of the event `tool.result`: what a session's tool call returned; `preview` is at most 500 characters. */
export interface ToolResultEvent {
  runId: string;
  sessionKey: string;
  callId: string;
  tool: string;
  args?: Record<string, unknown>;
  isError: boolean;
  preview: string;
}
