import type { AgentHeartbeats, SkipReason } from "./agent-heartbeat.ts";
import type { ApprovalResults } from "./approvals.ts";
import type { AccountStatus, ChannelEntry, PairEntry, Role, StartedAccount } from "./channel-accounts.ts";
import type { CronJob, CronRun, CronRunResult, CronStatusResult } from "./cron.ts";
import type { TotalOver } from "./events.ts";
import type { FileContent, Listing } from "./file-results.ts";
import type { McpResults } from "./mcp.ts";
import type { DreamResults, MemoryResults } from "./memory-schemas.ts";
import type { Message, ToolDefinition } from "./messages.ts";
import type { Method, Scope } from "./methods.ts";
import type { ExportFormat, MemoryObject, ObjectDiff, ObjectHistory, ObjectList } from "./objects.ts";
import type { ModelRef, ResetPolicy, SessionSettings, ThinkingLevel } from "./schemas.ts";
import type { SearchResult } from "./search.ts";
import type {
  ContextChanged,
  ContextResult,
  CostResult,
  PreviousConversation,
  RunOutcome,
  SessionEntry,
} from "./session-results.ts";
import type { ConversationResults } from "./shown-conversation.ts";
import type { SkillMethodResults } from "./skill-schemas.ts";
import type { TokenResults } from "./token-results.ts";
import type { UsageResults } from "./usage.ts";
import type { WorkspaceHistoryResults } from "./workspace-history-schemas.ts";

/**
 * The answer to `connect`. Method and event names are plain strings, because a peer may talk to a gateway of
 * another version.
 */
export interface HelloOk {
  type: "hello-ok";
  protocol: number;
  server: { version: string; connectionId: string };
  features: { methods: readonly string[]; events: readonly string[] };
  /** The scopes of the peer's token. Gateways of earlier versions do not send them. */
  scopes?: Scope[];
  /** The origin of the gateway's web page, such as `https://gsv.example`. Absent: it has none. */
  page?: string;
  /** The address for programs that use the agent through MCP. */
  mcp?: string;
  /** The token that the device gets for its code, sent only once. `expiresAt`: unless it is used before; epoch ms. */
  auth?: { token: string; id: string; scopes: Scope[]; expiresAt: number };
}

/** The directives found in a message. */
export interface FoundDirectives {
  model?: ModelRef;
  thinkLevel?: ThinkingLevel;
  /** The message has a `/status` directive. */
  status?: true;
}

/**
 * A run was started, or waits for an earlier one (`queued`). `response` is the answer to the directive `/status`.
 */
export interface StartedRun {
  status: "started";
  runId: string;
  queued?: boolean;
  directives?: FoundDirectives;
  response?: string;
}

/** A slash command was executed. */
export interface CommandDone {
  status: "command";
  command: string;
  response?: string;
  error?: string;
}

/** The answer to `chat.send`. */
export type ChatSendResult =
  | StartedRun
  | CommandDone
  | { status: "directive-only"; response?: string; directives?: FoundDirectives };

/**
 * The answer to a report of a node or a bridge. `dropped`: the report was late or repeated and changed
 * nothing.
 */
export interface Receipt {
  ok: true;
  dropped?: true;
}

/** Total tokens of a session, as reported by the provider. */
export interface TokenCount {
  input: number;
  output: number;
  total: number;
}

export interface SessionResult {
  /** Empty when the session does not exist yet. */
  sessionId: string;
  sessionKey: string;
  createdAt: number;
  updatedAt: number;
  messageCount: number;
  tokens: TokenCount;
  settings: SessionSettings;
  resetPolicy: ResetPolicy;
  lastResetAt?: number;
  previousSessionIds: string[];
  label?: string;
  /** The conversation is not archived, searched or read for memories. */
  private?: true;
}

export interface StatsResult {
  sessionKey: string;
  sessionId: string;
  messageCount: number;
  tokens: TokenCount;
  createdAt: number;
  updatedAt: number;
  /** Milliseconds since the session was created. */
  uptime: number;
  isProcessing: boolean;
  /** The run in progress. An extension of GSV's protocol, as the next two. */
  runId?: string;
  /** Of that run: the number of its model call, and how often the call was repeated, as in its `chat` events. */
  step?: number;
  attempt?: number;
  /** Number of entries in the inbox. */
  queueSize: number;
}

export interface ResetResult {
  ok: true;
  sessionKey: string;
  oldSessionId: string;
  newSessionId: string;
  archivedMessages: number;
  /** Key of the archive; absent when there was nothing to archive. */
  archivedTo?: string;
  tokensCleared: TokenCount;
  /** Number of deleted media objects. */
  mediaDeleted: number;
}

export interface CompactResult {
  ok: true;
  trimmedMessages: number;
  /** Number of messages that were not compacted. */
  keptMessages: number;
  /** Key of the archive; absent when nothing was archived. */
  archivedTo?: string;
}

/**
 * A page of a conversation's complete transcript: the archived parts in order, then the final archive or the
 * live messages. A compaction's summary is left out when the part that it summarizes is included.
 */
export interface TranscriptPage {
  sessionId: string;
  agentId: string;
  /** Keys of the parts that compactions archived, oldest first. */
  parts: string[];
  /** Key of the final archive; absent while the conversation is live. */
  archivedTo?: string;
  /** The final archive's metadata; on the first page only. */
  metadata?: Partial<Record<string, string>>;
  messages: Message[];
  /** The next piece of the JSON of a message that is larger than a page. It follows `messages`. */
  piece?: { text: string; isLast: boolean };
  /** The `next` param for the next page; absent on the last page. */
  next?: string;
}

/** A page of an export of a conversation. The texts of all pages, one after the other, are lines of JSON. */
export interface ExportPage {
  sessionId: string;
  agentId: string;
  /** Absent for an archive without metadata. */
  sessionKey?: string;
  format: ExportFormat;
  /** The next part of the lines; a page may end inside a line. */
  text: string;
  /** The `next` param for the next page; absent on the last page. */
  next?: string;
}

/** An upload of a payload that is too large for a frame. */
export interface Upload {
  /**
   * The value of the request's `paramsRef`, or of its attachment's `dataRef`. Valid on the same connection
   * only.
   */
  ref: string;
  /** Presigned URL for one PUT of exactly the announced number of bytes. */
  url: string;
}

/** The answer to `channel.inbound`. `duplicate`: the message was already accepted earlier. */
export type InboundResult =
  | { status: "started"; sessionKey: string }
  /** `response`: the reply to the sender, which is also sent by `channel.outbound`; absent until the agent has executed the command. */
  | { status: "command"; sessionKey: string; command: string; response?: string }
  | { status: "directive-only"; sessionKey: string; response?: string }
  | { status: "started"; duplicate: true }
  | { status: "blocked"; reason: string }
  | { status: "pending_pairing"; senderId: string }
  /** `recorded`: the agent will read of it; only an owner's verdict on a message of a session counts. */
  | { status: "reaction"; recorded: boolean };

interface AccountResult {
  ok: boolean;
  channel: string;
  accountId: string;
}

/** The progress of a transfer. Sizes in bytes. */
export interface TransferStatus {
  transferId: number;
  status: "running" | "done" | "failed";
  /** `{nodeId}:/path`, `gsv:path`, or `:/path` on the machine of the requesting client. */
  source: string;
  destination: string;
  /** Bytes that the source has stored, and that the destination has received. */
  sent: number;
  received: number;
  /** Absent until the source has reported it. */
  size?: number;
  mime?: string;
  /** Why it failed. */
  error?: string;
}

/** The URL for a PUT or GET of a part of a transfer, which has `bytes` bytes. Valid for 15 minutes. */
export interface TransferPart {
  url: string;
  headers: Record<string, string>;
  bytes: number;
}

/** The result of every method. Times are epoch ms, sizes bytes. */
interface ResultTable
  extends ApprovalResults,
    McpResults,
    WorkspaceHistoryResults,
    MemoryResults,
    DreamResults,
    UsageResults,
    SkillMethodResults,
    TokenResults,
    ConversationResults {
  connect: HelloOk;
  "chat.send": ChatSendResult;
  "chat.result": RunOutcome & { runId: string };
  "tools.list": { tools: ToolDefinition[] };
  /** Sent after the node has answered. */
  "tool.invoke": { result: unknown };
  "tool.request": { status: "sent" };
  "tool.result": Receipt;
  "node.exec.event": Receipt;
  /** Sent after the node has answered. */
  "logs.get": { nodeId: string; lines: string[]; count: number; truncated: boolean };
  "logs.result": Receipt;
  "node.pong": { ok: true };
  /** `removed`: the id was bound to a token. `disconnected`: the node was connected and has been disconnected. */
  "node.forget": { ok: true; nodeId: string; removed: boolean; disconnected: boolean };
  "node.probe.result": Receipt;
  "heartbeat.status": { agents: AgentHeartbeats };
  "heartbeat.start": { message: string; agents: AgentHeartbeats };
  "heartbeat.stop": { message: string; agents: AgentHeartbeats };
  /** `skipped`: the model is not called; `skipReason` says why. */
  "heartbeat.trigger": { ok: boolean; message: string; skipped?: boolean; skipReason?: SkipReason };
  "config.get": { path: string; value: unknown } | { config: Record<string, unknown> };
  "config.set": { ok: true; path: string };
  "sessions.list": { sessions: SessionEntry[]; count: number };
  "session.get": SessionResult;
  "session.stats": StatsResult;
  "session.cost": CostResult;
  "session.context": ContextResult;
  /** Sent by the agent after the change, like the next two. */
  "session.activate": ContextChanged;
  "session.deactivate": ContextChanged;
  "session.pin": ContextChanged;
  "session.patch": { ok: true };
  /** Sent by the agent when the reset is done. */
  "session.reset": ResetResult;
  /** Sent by the agent when the compaction is done. */
  "session.compact": CompactResult;
  /** `sessionIds`: the deleted conversations. `objects`: number of objects deleted from the bucket. */
  "session.delete": { ok: true; sessionKey: string; sessionIds: string[]; objects: number };
  "session.history": {
    sessionKey: string;
    currentSessionId: string;
    previousSessionIds: string[];
    /** The same conversations; an extension of GSV's protocol. */
    previous: PreviousConversation[];
  };
  "session.transcript": TranscriptPage;
  "session.export": ExportPage;
  /** `messages`: number of messages that the session has now. */
  "session.import": { ok: true; sessionKey: string; sessionId: string; messages: number };
  "object.list": ObjectList;
  /** One version of an object. */
  "object.get": MemoryObject;
  "object.history": ObjectHistory;
  "object.diff": ObjectDiff;
  "session.search": SearchResult;
  "workspace.list": Listing;
  "workspace.read": FileContent;
  "workspace.write": { path: string; size: number; written: true };
  "workspace.delete": { path: string; deleted: true };
  "transfer.open": TransferStatus;
  "transfer.status": TransferStatus;
  "transfer.cancel": TransferStatus;
  "transfer.part": TransferPart;
  "transfer.meta": { ok: true };
  "transfer.accept": { ok: true };
  "transfer.complete": { ok: true };
  "transfer.done": { ok: true };
  /** The names of the files that were written. */
  "agent.init": { agentId: string; written: string[] };
  "channels.list": { channels: ChannelEntry[]; count: number };
  "channel.inbound": InboundResult;
  "channel.delivered": Receipt;
  /** A bridge's account lacks the fields of `StartedAccount`. */
  "channel.start": AccountResult & Partial<StartedAccount>;
  "channel.stop": AccountResult;
  "channel.status": { channel: string; accounts: AccountStatus[] };
  /** Always refused: no supported platform has a login. */
  "channel.login": never;
  "channel.logout": never;
  "channel.remove": { removed: true; channel: string; accountId: string };
  "channel.test": AccountResult & { error?: string };
  /** By channel, account and sender. */
  "pair.list": { pairs: Record<string, PairEntry> };
  "pair.approve": { approved: true; senderId: string; senderName?: string; role: Role };
  "pair.reject": { rejected: true; senderId: string };
  "cron.status": CronStatusResult;
  "cron.list": { jobs: CronJob[]; count: number };
  "cron.add": { ok: true; job: CronJob };
  "cron.update": { ok: true; job: CronJob };
  "cron.remove": { ok: true; removed: true };
  /** `ran`: number of jobs that were queued or could not be queued. The others were skipped. */
  "cron.run": { ok: true; ran: number; results: CronRunResult[] };
  /** Newest first. */
  "cron.runs": { runs: CronRun[]; count: number };
  "payload.upload": Upload;
}

/** The result of a method. */
export type Results = TotalOver<Method, ResultTable>;
