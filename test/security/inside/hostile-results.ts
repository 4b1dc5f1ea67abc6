import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Approval, Grant } from "../../../shared/protocol/approvals.ts";
import type { CronJob } from "../../../shared/protocol/cron.ts";
import type { McpProbe } from "../../../shared/protocol/mcp.ts";
import type { Memory } from "../../../shared/protocol/memory-schemas.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import type { Method } from "../../../shared/protocol/methods.ts";
import type { Results, TransferStatus } from "../../../shared/protocol/results.ts";
import type { SkillsResult } from "../../../shared/protocol/skill-schemas.ts";
import type { BudgetState, UsageFigures } from "../../../shared/protocol/usage.ts";
import type { CommitEntry } from "../../../shared/protocol/workspace-history-schemas.ts";
import { assistant } from "../../cli/fake-gateway.ts";

/** Clears the screen, sets the title, reverses the text direction, returns to the line's start, ends a C1 sequence. */
export const hostile = "evil\u001b[2J\u001b]0;owned\u0007\u009b1A\u202erev\u0000\rover\u2066\u001b[8m";

const time = Date.UTC(2026, 0, 2, 12);
const tokens = { input: 1, output: 1, total: 2 };
const spending = { calls: 1, input: 1, output: 1, cacheRead: 1, cacheWrite: 1, dollars: 1, unpriced: 0 };
const said: Message[] = [
  { role: "user", content: hostile, timestamp: 1 },
  assistant(hostile, [{ id: "c", name: hostile, arguments: { command: hostile } }]),
  { ...assistant(""), errorMessage: hostile },
  {
    role: "toolResult",
    toolCallId: "c",
    toolName: hostile,
    content: [{ type: "text", text: hostile }],
    isError: true,
    timestamp: 1,
  },
];
const account = { ok: true, channel: hostile, accountId: hostile };
const started = {
  identity: hostile,
  webhookUrl: hostile,
  registration: { status: "manual", todo: hostile },
} as const;
const token = { id: hostile, name: hostile, scopes: ["client" as const], createdAt: time };
const session = {
  sessionKey: hostile,
  sessionId: hostile,
  messageCount: 4,
  tokens,
  createdAt: 1,
  updatedAt: 1,
};

const version = {
  ...{ id: hostile, version_no: 1, at: 1 },
  ...{ content_hash: hostile, metadata_view_hash: hostile, object_hash: hostile },
};

const job: CronJob = {
  ...{ id: hostile, agentId: hostile, name: hostile, enabled: true, createdAtMs: 1, updatedAtMs: 1 },
  schedule: { kind: "every", everyMs: 60_000 },
  spec: { mode: "task", message: hostile, channel: hostile, to: hostile },
  state: { lastStatus: "error", lastError: hostile, lastRunAtMs: 1 },
};
const commit: CommitEntry = {
  ...{ sha: hostile, author: hostile, at: 1, message: hostile },
  files: [{ path: hostile, change: "changed" }],
};
const memory: Memory = {
  ...{ id: hostile, text: hostile, places: [{ path: hostile, line: 1 }] },
  record: { id: hostile, kind: hostile, sessionKey: hostile, at: 1, by: "agent", type: "user" },
};
const run = { id: hostile, jobId: hostile, ts: 1, status: "error" as const, error: hostile };
const heartbeats: Results["heartbeat.status"]["agents"] = {
  evil: {
    ...{ agentId: hostile, on: true, everyMs: 60_000, target: hostile },
    activeHours: { start: hostile, end: hostile, timezone: hostile },
    ...{ nextHeartbeatAt: 1, lastHeartbeatAt: 1, lastHeartbeatText: hostile, lastHeartbeatSentAt: 1 },
    lastActive: { channel: hostile, accountId: hostile, peer: { kind: "dm", id: hostile }, timestamp: 1 },
  },
};
const skills: SkillsResult = {
  ...{ agentId: hostile, refreshedAt: 1, requiredBins: [hostile] },
  nodes: [
    {
      ...{ nodeId: hostile, hostRole: hostile, hostCapabilities: [hostile], hostOs: hostile },
      ...{ hostEnv: [hostile], hostBins: [hostile], canProbeBins: true },
    },
  ],
  skills: [
    {
      ...{ name: hostile, description: hostile, location: "agents/main/skills/evil/SKILL.md", always: false },
      ...{ eligible: false, eligibleHosts: [hostile], reasons: [hostile], requirements: { bins: [hostile] } },
    },
  ],
};
const transfer: TransferStatus = {
  ...{ transferId: 1, status: "done", source: hostile, destination: hostile },
  ...{ sent: 0, received: 0, size: 0 },
};

const figures: UsageFigures = {
  ...{ calls: 1, input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
  ...{ dollars: 1, estimated: 0, savedDollars: 0 },
};
const budget: BudgetState = {
  ...{ id: hostile, scope: "agent", of: hostile, per: "day", atLimit: "ask" },
  ...{ unit: "usd", limit: 1, raised: 0, used: [{ amount: 0 }] },
};

const call = { tool: hostile, node: hostile, args: { command: hostile }, origins: [hostile], createdAt: 1 };
const approval: Approval = {
  ...{ id: hostile, kind: "tool", state: "denied", hash: "0".repeat(64), sessionKey: hostile },
  ...{ runId: hostile, step: 0, callId: hostile, ...call, why: hostile, until: 2 },
  answer: { decision: "deny", scope: "once", by: hostile, at: 1, note: hostile },
};
const grant: Grant = { id: hostile, scope: "always", agentId: hostile, ...call, createdBy: hostile, uses: 1 };

/** The result of `config.get` without a path. */
export const hostileConfiguration: Results["config.get"] = { config: { ...defaults, systemPrompt: hostile } };

const program: Results["program.get"] = {
  ...{ name: hostile, clientId: hostile, redirectUri: hostile },
  ...{ scopes: ["mcp"], until: time, approved: false },
};
const probe: McpProbe = { name: hostile, tools: 0, durationMs: 1 };

/** A hostile result of each method that a command calls. */
export const hostileResults: { [M in Method]?: Results[M] } = {
  "mcp.add": probe,
  "mcp.probe": probe,
  "mcp.login": { address: hostile, until: time },
  "mcp.login.finish": { status: "done", ...probe },
  "mcp.list": {
    servers: [{ name: hostile, url: hostile, enabled: true, class: hostile, auth: "none" }],
    count: 1,
  },
  "mcp.tools": {
    tools: [{ name: hostile, server: hostile, tool: hostile, class: hostile, description: hostile }],
    count: 1,
  },
  "mcp.remove": { ok: true, removed: true },
  "program.get": program,
  "program.approve": program,
  "program.deny": program,
  "tools.list": { tools: [{ name: hostile, description: hostile, inputSchema: { type: "object" } }] },
  "tool.invoke": { result: { content: hostile } },
  "logs.get": { nodeId: hostile, lines: [hostile], count: 1, truncated: true },
  "config.get": {
    path: "model",
    value: {
      ...{ provider: hostile, id: hostile, telegram: { owners: [hostile] } },
      nodes: { [hostile]: "ask" },
      list: [{ id: "evil", model: { provider: hostile, id: hostile } }],
      bindings: [{ agentId: "evil", match: { channel: hostile } }],
    },
  },
  "config.set": { ok: true, path: "x" },
  "sessions.list": {
    sessions: [{ sessionKey: hostile, createdAt: 1, lastActiveAt: 1, label: hostile }],
    count: 1,
  },
  "session.get": {
    ...session,
    settings: { model: { provider: hostile, id: hostile }, systemPrompt: hostile },
    resetPolicy: { mode: "manual" },
    previousSessionIds: [hostile],
    label: hostile,
  },
  "session.stats": { ...session, uptime: 1, isProcessing: false, queueSize: 0 },
  "session.cost": {
    sessionKey: hostile,
    turn: { ...spending, runId: hostile },
    session: spending,
    today: { date: hostile, session: spending, all: spending },
  },
  "usage.get": {
    today: { date: hostile, ...figures },
    month: { since: hostile, ...figures },
    total: { since: hostile, ...figures },
    groups: [{ name: hostile, ...figures }],
  },
  "budget.list": { enabled: true, date: hostile, rules: [budget] },
  "budget.raise": { ok: true, rule: budget },
  "session.context": {
    sessionKey: hostile,
    model: hostile,
    messageCount: 1,
    last: { tokens: 1, window: 2, prompt: 1, compactsAt: 2 },
    rendering: "inline",
    entries: [
      {
        ...{ id: hostile, type: "toolcall", tool: hostile, args_display: hostile, status: "ok", tokens: 1 },
        ...{ active: true, pinned: false, metadata_view_hash: hostile },
      },
      { id: hostile, type: "file", path: hostile, active: false, pinned: true, metadata_view_hash: hostile },
    ],
    ...{ more: 0, active: [hostile], inactive: [], pinned: [hostile], active_hash: hostile },
  },
  "session.activate": { ok: true, id: hostile, state: "active", note: hostile },
  "session.deactivate": { ok: true, id: hostile, state: "inactive", note: hostile },
  "session.pin": { ok: true, id: hostile, state: "pinned", note: hostile },
  "session.patch": { ok: true },
  "session.delete": { ok: true, sessionKey: hostile, sessionIds: [hostile], objects: 1 },
  "session.reset": {
    ...{ ok: true, sessionKey: hostile, oldSessionId: hostile, newSessionId: hostile, archivedMessages: 1 },
    ...{ archivedTo: hostile, tokensCleared: tokens, mediaDeleted: 0 },
  },
  "session.compact": { ok: true, trimmedMessages: 1, keptMessages: 1, archivedTo: hostile },
  "session.preview": {
    ...{ sessionKey: hostile, sessionId: hostile, messageCount: 4, first: 1 },
    messages: said.map((message, index) => ({ ...message, seq: index + 1 })),
  },
  "session.fork": { sessionKey: hostile, sessionId: hostile, messages: 1 },
  "session.history": {
    sessionKey: hostile,
    currentSessionId: hostile,
    previousSessionIds: [hostile],
    previous: [{ sessionId: hostile }],
  },
  "session.transcript": { sessionId: hostile, agentId: hostile, parts: [], messages: said },
  "session.export": { sessionId: hostile, agentId: hostile, format: "pi", text: hostile },
  "session.import": { ok: true, sessionKey: hostile, sessionId: hostile, messages: 1 },
  "object.list": {
    ...{ sessionKey: hostile, sessionId: hostile, count: 1 },
    objects: [
      { ...version, type: "toolcall", locked: false, message: 1, args_display: hostile, status: hostile },
    ],
  },
  "object.get": {
    ...{ ...version, type: "file", locked: false, content: hostile, path: hostile, file_type: hostile },
    ...{ char_count: 1, nickname: hostile, provenance: { origin: hostile, generator: "tool" } },
  },
  "object.history": { id: hostile, type: "file", versions: [{ ...version, message: 1 }], count: 1 },
  "object.diff": { from: version, to: version, same: false, diff: hostile },
  "session.search": {
    ...{ agentId: hostile, count: 1, waiting: 0 },
    hits: [
      {
        ...{ sessionKey: hostile, sessionId: hostile, message: 1, at: 1, role: "user", source: hostile },
        ...{ text: hostile, truncated: true, score: 1 },
      },
    ],
  },
  "workspace.list": { path: hostile, files: [hostile], directories: [hostile] },
  "workspace.read": { path: hostile, content: hostile, size: 1, lastModified: hostile },
  "workspace.write": { path: hostile, size: 1, written: true },
  "workspace.delete": { path: hostile, deleted: true },
  "memory.list": { agentId: hostile, memories: [memory], count: 1 },
  "memory.why": {
    memory,
    sources: [{ sessionKey: hostile, sessionId: hostile, message: 1, at: 1, role: "user", text: hostile }],
  },
  "memory.add": { memory },
  "memory.forget": { id: hostile, files: [hostile], commits: 1 },
  "memory.correct": { id: hostile, by: memory, files: [hostile] },
  "memory.allow": { id: hostile },
  "memory.dream": {
    ...{ agentId: hostile, dryRun: true, busy: false },
    sweep: {
      at: 1,
      candidates: 1,
      promoted: 0,
      alreadyPromoted: 0,
      secrets: 0,
      commit: hostile,
      refused: hostile,
    },
    verdicts: [
      {
        id: hostile,
        text: hostile,
        score: 0,
        hits: 1,
        queries: 1,
        days: 1,
        promoted: false,
        reason: hostile,
      },
    ],
  },
  "memory.dreaming": { agentId: hostile, enabled: true, intervalSecs: 1 },
  "workspace.log": { commits: [commit] },
  "workspace.diff": { files: commit.files, patch: hostile },
  "workspace.show": { ...commit, patch: hostile },
  "workspace.restore": { checkpoint: hostile, restored: [hostile], removed: [hostile] },
  "workspace.checkpoint": { skipped: false, sha: hostile },
  "workspace.clone": { files: [{ path: "HEAD", data: "" }] },
  "agent.init": { agentId: hostile, written: [hostile] },
  "channels.list": {
    channels: [{ channel: hostile, accountId: hostile, connectedAt: 1, stopped: false }],
    count: 1,
  },
  "channel.start": { ...account, ...started },
  "channel.stop": account,
  "channel.status": {
    channel: hostile,
    accounts: [
      {
        ...{ accountId: hostile, connected: true, authenticated: true, error: hostile },
        extra: {
          stopped: false,
          identity: hostile,
          webhookUrl: hostile,
          webhookError: hostile,
          lastError: hostile,
        },
      },
    ],
  },
  "channel.remove": { removed: true, channel: hostile, accountId: hostile },
  "channel.test": account,
  "cron.status": {
    ...{ enabled: true, count: 1, dueCount: 0, runningCount: 0, maxJobs: 1, maxConcurrentRuns: 1 },
    timezone: "UTC",
  },
  "cron.list": { jobs: [job], count: 1 },
  "cron.add": { ok: true, job },
  "cron.update": { ok: true, job },
  "cron.remove": { ok: true, removed: true },
  "cron.run": {
    ...{ ok: true, ran: 1 },
    results: [{ jobId: hostile, status: "error", error: hostile, durationMs: 1 }],
  },
  "cron.runs": { runs: [run], count: 1 },
  "heartbeat.status": { agents: heartbeats },
  "heartbeat.start": { message: hostile, agents: heartbeats },
  "heartbeat.stop": { message: hostile, agents: heartbeats },
  "heartbeat.trigger": { ok: true, message: hostile },
  "skills.status": skills,
  "skills.update": { ...skills, updatedNodeCount: 1, skippedNodeIds: [hostile], errors: [hostile] },
  "transfer.open": transfer,
  "transfer.status": transfer,
  "transfer.cancel": transfer,
  "pair.list": {
    pairs: {
      one: {
        ...{ channel: hostile, accountId: hostile, senderId: hostile, senderName: hostile, message: hostile },
        ...{ requestedAt: 1, expiresAt: 2 },
      },
    },
  },
  "pair.approve": { approved: true, senderId: hostile, senderName: hostile, role: "guest" },
  "pair.reject": { rejected: true, senderId: hostile },
  "approval.list": { approvals: [approval], count: 1 },
  "approval.get": approval,
  "approval.answer": { status: "already", decision: "deny", by: hostile, at: 1 },
  "grant.list": { grants: [grant], count: 1 },
  "grant.revoke": { ok: true, revoked: false },
  "code.create": { code: hostile, short: hostile, scopes: ["client"], expiresAt: 1 },
  "token.create": { ...token, token: hostile },
  "token.list": { tokens: [{ ...token, connections: 1 }] },
  "token.revoke": { revoked: true, id: hostile },
};
