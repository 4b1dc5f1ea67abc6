import type { AgentHeartbeats, SkipReason } from "./agent-heartbeat.ts";
import type { AccountStatus, ChannelEntry, PairEntry, Role, StartedAccount } from "./channel-accounts.ts";
import type { CronJob, CronRun, CronRunResult, CronStatusResult } from "./cron.ts";
import type { DreamResults, MemoryResults } from "./memory-schemas.ts";
import type { Message, ToolDefinition } from "./messages.ts";
import type { Method, Scope } from "./methods.ts";
import type { ExportFormat, MemoryObject, ObjectDiff, ObjectHistory, ObjectList } from "./objects.ts";
import type { ModelRef, ResetPolicy, SessionSettings, ThinkingLevel } from "./schemas.ts";
import type { SearchResult } from "./search.ts";
import type { ContextChanged, ContextResult, CostResult, SessionEntry } from "./session-results.ts";
import type { TotalOver } from "./total.ts";
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
}

/** The directives found in a message. */
export interface FoundDirectives {
  model?: ModelRef;
  thinkLevel?: ThinkingLevel;
  /** The message has a `/status` directive. */
  status?: true;
}

/**
 * A run was started, or waits for an earlier one (`queued`). `response` is the text of the directive
 * `/status`.
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
  /** The run that is in progress. An extension of GSV's protocol. */
  runId?: string;
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
  /** Absent when nothing names it: an archive without metadata. */
  sessionKey?: string;
  format: ExportFormat;
  /** The next part of the lines; a page may end inside a line. */
  text: string;
  /** The `next` param for the next page; absent on the last page. */
  next?: string;
}

/** An access token without its secret. Times are epoch ms. */
export interface TokenEntry {
  id: string;
  name: string;
  scopes: Scope[];
  createdAt: number;
  lastUsedAt?: number;
  /** The only channel and account that a bridge's token is valid for. */
  channel?: string;
  accountId?: string;
}

/** A token and the number of clients, nodes and channels that are connected with it. */
export type ListedToken = TokenEntry & { connections: number };

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
  /** `response`: what the sender was told, which is also sent by `channel.outbound`; absent until the agent has done it. */
  | { status: "command"; sessionKey: string; command: string; response?: string }
  | { status: "directive-only"; sessionKey: string; response?: string }
  | { status: "started"; duplicate: true }
  | { status: "blocked"; reason: string }
  | { status: "pending_pairing"; senderId: string };

/** A connected node, as far as skills look at it. `hostBins`: the programs that it is known to have. */
export interface SkillNode {
  nodeId: string;
  hostRole: string;
  hostCapabilities: string[];
  hostOs?: string;
  hostEnv: string[];
  hostBins: string[];
  hostBinStatusUpdatedAt?: number;
  /** It runs commands, and so can be asked for its programs. */
  canProbeBins: boolean;
}

/** A skill, and whether it can be used now. */
export interface SkillEntry {
  name: string;
  description: string;
  /** Key in the bucket. */
  location: string;
  always: boolean;
  eligible: boolean;
  /** Nodes that have all the skill asks of one. */
  eligibleHosts: string[];
  /** Why it cannot be used, each a phrase. */
  reasons: string[];
  requirements?: Partial<Record<string, string[]>>;
}

export interface SkillsResult {
  agentId: string;
  refreshedAt: number;
  /** The programs that enabled skills of the agent ask for. */
  requiredBins: string[];
  nodes: SkillNode[];
  skills: SkillEntry[];
}

/** The skills as they are before the nodes have answered. */
export interface SkillsUpdate extends SkillsResult {
  /** Number of nodes that were asked. */
  updatedNodeCount: number;
  /** Nodes that were not asked, because their answers are fresh or pending, or because they run no commands. */
  skippedNodeIds: string[];
  /** Nodes that could not be asked, each with its id and the reason. */
  errors: string[];
}

/** A folder of a workspace. `files` are whole workspace paths; `directories` too, each with a trailing `/`. Both sorted. */
export interface Listing {
  path: string;
  files: string[];
  directories: string[];
}

/** A text file of a workspace. */
export interface FileContent {
  path: string;
  content: string;
  /** Bytes. */
  size: number;
  /** ISO 8601, UTC. */
  lastModified: string;
  /** Of a file under `skills/`: its key in the bucket, and whether that is the agent's copy or the one all agents share. */
  resolvedPath?: string;
  resolvedSource?: "agent" | "global";
}

interface AccountResult {
  ok: boolean;
  channel: string;
  accountId: string;
}

/** How a transfer goes. Sizes in bytes. */
export interface TransferStatus {
  transferId: number;
  status: "running" | "done" | "failed";
  /** `{nodeId}:/path`, `gsv:path`, or `:/path` on the machine of the client that asked. */
  source: string;
  destination: string;
  /** What the source has stored, and what the destination has taken. */
  sent: number;
  received: number;
  /** Absent until the source has told it. */
  size?: number;
  mime?: string;
  /** Why it failed. */
  error?: string;
}

/** Where to PUT or GET a part of a transfer of `bytes` bytes. Valid for 15 minutes. */
export interface TransferPart {
  url: string;
  headers: Record<string, string>;
  bytes: number;
}

/** The result of every method. Times are epoch ms, sizes bytes. */
interface ResultTable extends WorkspaceHistoryResults, MemoryResults, DreamResults {
  connect: HelloOk;
  "chat.send": ChatSendResult;
  "tools.list": { tools: ToolDefinition[] };
  /** Answered when the node has. */
  "tool.invoke": { result: unknown };
  "tool.request": { status: "sent" };
  "tool.result": Receipt;
  "node.exec.event": Receipt;
  /** Answered when the node has. */
  "logs.get": { nodeId: string; lines: string[]; count: number; truncated: boolean };
  "logs.result": Receipt;
  "node.pong": { ok: true };
  /** `removed`: the id was bound to a token. `disconnected`: the node was connected, and is not any more. */
  "node.forget": { ok: true; nodeId: string; removed: boolean; disconnected: boolean };
  "node.probe.result": Receipt;
  "skills.status": SkillsResult;
  "skills.update": SkillsUpdate;
  "heartbeat.status": { agents: AgentHeartbeats };
  "heartbeat.start": { message: string; agents: AgentHeartbeats };
  "heartbeat.stop": { message: string; agents: AgentHeartbeats };
  /** `skipped`: the model is not asked, for this reason. */
  "heartbeat.trigger": { ok: boolean; message: string; skipped?: boolean; skipReason?: SkipReason };
  "config.get": { path: string; value: unknown } | { config: Record<string, unknown> };
  "config.set": { ok: true; path: string };
  "sessions.list": { sessions: SessionEntry[]; count: number };
  "session.get": SessionResult;
  "session.stats": StatsResult;
  "session.cost": CostResult;
  "session.context": ContextResult;
  /** Sent by the agent when it is done, as the next two. */
  "session.activate": ContextChanged;
  "session.deactivate": ContextChanged;
  "session.pin": ContextChanged;
  "session.patch": { ok: true };
  /** Sent by the agent when the reset is done. */
  "session.reset": ResetResult;
  /** Sent by the agent when the compaction is done. */
  "session.compact": CompactResult;
  "session.preview": { sessionKey: string; sessionId: string; messageCount: number; messages: Message[] };
  "session.history": { sessionKey: string; currentSessionId: string; previousSessionIds: string[] };
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
  /** Without the fields of `StartedAccount` for a bridge's account. */
  "channel.start": AccountResult & Partial<StartedAccount>;
  "channel.stop": AccountResult;
  "channel.status": { channel: string; accounts: AccountStatus[] };
  /** Always refused: no platform here has a login. */
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
  /** `ran`: how many jobs were queued or failed to be. The others were skipped. */
  "cron.run": { ok: true; ran: number; results: CronRunResult[] };
  /** Newest first. */
  "cron.runs": { runs: CronRun[]; count: number };
  "payload.upload": Upload;
  "token.create": TokenEntry & { token: string };
  "token.list": { tokens: ListedToken[] };
  "token.revoke": { revoked: true; id: string };
}

/** The result of a method. */
export type Results = TotalOver<Method, ResultTable>;
