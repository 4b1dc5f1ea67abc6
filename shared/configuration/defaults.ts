import type { Configuration } from "./schema.ts";

/**
 * The default configuration. The default model runs on Amazon Bedrock with the function's role, so it needs
 * no API key.
 */
export const defaults: Configuration = {
  model: { provider: "amazon-bedrock", id: "global.anthropic.claude-sonnet-4-6" },
  apiKeys: {},
  timeouts: { llmMs: 300_000, toolMs: 60_000, skillProbeMaxAgeMs: 600_000 },
  allowedOrigins: [],
  auth: {},
  systemPrompt: "You are a helpful AI assistant running inside GSV.",
  userTimezone: "UTC",
  nodes: { keepOfferedHours: 24 },
  channels: {},
  transcription: { model: "whisper-1" },
  speech: { enabled: false, model: "tts-1", voice: "alloy" },
  web: { fetch: true, search: {} },
  mcp: { servers: {} },
  session: {
    mainKey: "main",
    dmScope: "main",
    identityLinks: {},
    defaultResetPolicy: { mode: "daily", atHour: 4 },
    sendLimit: 50,
  },
  skills: { entries: {} },
  agents: {
    list: [],
    bindings: [],
    defaultHeartbeat: {
      every: "30m",
      prompt:
        "This is a periodic check. Follow HEARTBEAT.md if it is in your workspace. " +
        "If nothing needs attention, answer HEARTBEAT_OK and nothing else.",
      target: "last",
      activeHours: { start: "08:00", end: "23:00" },
    },
  },
  compaction: { enabled: true, reserveTokens: 20_000, keepRecentTokens: 20_000, extractMemories: true },
  context: { rendering: "inline", tools: true, deactivateAbove: 0.5, window: { calls: 5, turns: 3 } },
  memory: { autoRecall: true, sessionLogs: true, selfReport: true, tool: true },
  workspaceGit: { enabled: true, tools: false },
  dreaming: {
    enabled: false,
    intervalSecs: 86_400,
    atHour: 3,
    minScore: 0.35,
    minRecallCount: 3,
    minUniqueQueries: 2,
    maxPromotionsPerSweep: 20,
    weights: { frequency: 0.24, relevance: 0.3, recency: 0.15, diversity: 0.15, consolidation: 0.1 },
  },
  budgets: {
    enabled: true,
    warnAt: 0.8,
    unknownPrice: { input: 5, output: 25 },
    prices: {},
    rules: [
      { id: "run", scope: "run", usd: 2, atLimit: "ask" },
      { id: "day", scope: "all", per: "day", usd: 10, atLimit: "ask" },
      { id: "heartbeat", scope: "kind", of: "heartbeat", per: "day", usd: 0.5, atLimit: "refuse" },
      { id: "cron", scope: "kind", of: "cron", per: "day", usd: 2, atLimit: "refuse" },
      { id: "guest", scope: "kind", of: "guest", per: "day", usd: 1, atLimit: "refuse" },
    ],
  },
  toolApproval: {
    mode: "off",
    nodes: {},
    defaultDecision: "byClass",
    rules: [],
    expireAfter: "24h",
    remindAfter: "1h",
  },
  cron: { enabled: true, maxJobs: 200, maxRunsPerJobHistory: 200, maxConcurrentRuns: 4 },
};
