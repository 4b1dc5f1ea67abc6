import * as v from "valibot";
import { count, resetPolicyField } from "../protocol/schemas.ts";
import { isTimezone } from "../runtime/zoned-time.ts";
import { budgets, dollars } from "./budgets.ts";
import { duration, flag, httpUrl, names, plainName, text } from "./fields.ts";
import { mcp } from "./mcp-servers.ts";
import { secret } from "./secret.ts";
import { createSecretPaths } from "./secret-paths.ts";
import { ownToolApproval, toolApproval } from "./tool-approval.ts";

const origin = v.pipe(
  v.string(),
  v.check(
    (value) => URL.canParse(value) && /^https?:/.test(value) && new URL(value).origin === value,
    "expected an origin such as https://gsv.example, without a path",
  ),
);
const timezone = v.pipe(v.string(), v.check(isTimezone, "expected an IANA timezone such as Europe/Berlin"));
const clockTime = v.pipe(
  v.string(),
  v.regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, "expected a time such as 08:00"),
);

const model = v.strictObject({
  provider: text(256),
  id: text(256),
  baseUrl: v.optional(httpUrl),
  /** In tokens. Default: the catalogue's value, on Bedrock at most 200,000. */
  contextWindow: v.optional(count(1000, 100_000_000)),
  /** Maximum tokens of an answer. Default: the model's limit, on Bedrock initially 16,384. */
  maxTokens: v.optional(count(1, 10_000_000)),
  /** How long the provider caches requests. Default: `auto`, by the conversation's gaps. */
  cacheRetention: v.optional(v.picklist(["auto", "short", "long", "none"])),
});

const account = v.strictObject({
  enabled: flag,
  /** The agent of this account when no binding matches. */
  agentId: v.optional(plainName),
  apiBaseUrl: v.optional(httpUrl),
  applicationId: v.optional(text(256)),
  phoneNumberId: v.optional(text(256)),
  publicKey: v.optional(text(1024)),
  accessToken: v.optional(secret()),
  appSecret: v.optional(secret()),
  botToken: v.optional(secret()),
  signingSecret: v.optional(secret()),
  verifyToken: v.optional(secret()),
  webhookSecret: v.optional(secret()),
});

const room = v.strictObject({
  /** Whose messages in the room may use the tools of nodes. Absent: nobody's. */
  tools: v.optional(v.picklist(["owner", "all"])),
});

const nodes = v.strictObject({
  /** How long the model is offered the tools of a node that has disconnected: a change of the tools invalidates the prompt cache. */
  keepOfferedHours: count(0, 720),
});

const channel = v.strictObject({
  /** Absent means closed. */
  dmPolicy: v.optional(v.picklist(["open", "allowlist", "pairing"])),
  /** Sender ids; `*` allows everybody. */
  allowFrom: v.optional(names),
  /** Sender ids of the agent's owners, who may write whether or not they are in `allowFrom`. */
  owners: v.optional(
    v.pipe(
      names,
      v.check((ids) => ids.every((id) => id.trim() !== "*"), "expected ids; * would make everybody an owner"),
    ),
  ),
  /** Rooms by their id on the platform. */
  groups: v.optional(v.record(text(256), room)),
  /** Of a bridge: whether an owner's "yes" and "no" in a direct message answer the agent's requests. */
  trustApprovals: flag,
  /** In rooms: false to answer every message. Absent or true: only messages addressed to the agent. */
  requireMention: flag,
  /** Whether reactions on a message show that it was accepted, and how its run has ended. Absent: no. */
  reactions: flag,
  accounts: v.optional(v.record(plainName, account)),
});

/** A server with OpenAI's API `/audio/transcriptions`. */
const transcription = v.strictObject({
  enabled: flag,
  /** Default: OpenAI's server, with `apiKeys.openai`. */
  baseUrl: v.optional(httpUrl),
  model: text(256),
  apiKey: v.optional(secret()),
});

/** A server with OpenAI's API `/audio/speech`, which speaks the answers to voice messages. */
const speech = v.strictObject({
  enabled: v.boolean(),
  /** Default: OpenAI's server, with `apiKeys.openai`. */
  baseUrl: v.optional(httpUrl),
  model: text(256),
  voice: text(256),
  apiKey: v.optional(secret()),
});

/** What the agent reads of the web (docs/web.md). */
const web = v.strictObject({
  /** Whether the agent has `gsv__WebFetch`. */
  fetch: v.boolean(),
  search: v.strictObject({
    /** Absent: the search tool of the model's provider, if it has one. `none`: the agent has no `gsv__WebSearch`. */
    provider: v.optional(v.picklist(["brave", "tavily", "searxng", "none"])),
    /** Default: the provider's own server. Required for `searxng`. */
    baseUrl: v.optional(httpUrl),
    apiKey: v.optional(secret()),
    /** Dollars for a search. Default: the list price; where none is known, an estimate. */
    pricePerSearch: v.optional(dollars),
  }),
});

const hoursTimezone = v.pipe(
  v.string(),
  v.check(
    (name) => name === "user" || isTimezone(name),
    "expected user, or an IANA timezone such as Europe/Berlin",
  ),
);
const activeHours = v.strictObject({
  start: clockTime,
  /** Exclusive. Before `start`: the hours span midnight. The same as `start`: the whole day. */
  end: clockTime,
  /** An IANA timezone, or `user` (the default): the `userTimezone`. */
  timezone: v.optional(hoursTimezone),
});
const heartbeat = v.strictObject({
  every: duration,
  prompt: text(20_000),
  /** `last`: where an owner last wrote a direct message; `none`; or a channel's name. */
  target: plainName,
  activeHours,
});
/** An agent's own settings, which override those of `agents.defaultHeartbeat` field by field. */
const ownHeartbeat = v.partial(v.strictObject({ ...heartbeat.entries, activeHours: v.partial(activeHours) }));

/** How much of a conversation a model sees (docs/context.md). */
const context = v.strictObject({
  /** `inline`: results are at their calls. `pools`: results are references, and active ones follow the conversation. */
  rendering: v.picklist(["inline", "pools"]),
  /** Whether the agent has the context tools. Without them no result automatically becomes a reference. */
  tools: v.boolean(),
  /** Share of the model's window above which old results become references; 1 is never. */
  deactivateAbove: v.pipe(
    v.number(),
    v.minValue(0.1, "expected 0.1 to 1"),
    v.maxValue(1, "expected 0.1 to 1"),
  ),
  window: v.strictObject({
    /** Number of the current turn's results that count as recent. */
    calls: count(0, 1000),
    /** Number of turns whose results count as recent, including the current one. */
    turns: count(1, 1000),
  }),
});
/** An agent's own settings, which override those of `context` field by field. */
const ownContext = v.partial(
  v.strictObject({ ...context.entries, window: v.partial(context.entries.window) }),
);
/** The history of an agent's workspace: whether it is kept, and whether the agent has tools for it. */
const workspaceGit = v.strictObject({ enabled: v.boolean(), tools: v.boolean() });

/** Weight of a recall signal in a score. */
const weight = v.pipe(v.number(), v.minValue(0, "expected 0 to 1"), v.maxValue(1, "expected 0 to 1"));
/** Sweeps that promote often recalled memories into MEMORY.md (docs/memory.md). */
const dreaming = v.strictObject({
  enabled: v.boolean(),
  /** Interval between two sweeps. */
  intervalSecs: count(300, 31_536_000),
  /** Hour in the user's timezone; applies when the interval is a number of days. */
  atHour: count(0, 23),
  minScore: weight,
  minRecallCount: count(1, 1000),
  minUniqueQueries: count(1, 1000),
  maxPromotionsPerSweep: count(0, 200),
  weights: v.strictObject({
    frequency: weight,
    relevance: weight,
    recency: weight,
    diversity: weight,
    consolidation: weight,
  }),
});

const agent = v.strictObject({
  id: plainName,
  default: flag,
  model: v.optional(model),
  systemPrompt: v.optional(text(20_000)),
  heartbeat: v.optional(ownHeartbeat),
  context: v.optional(ownContext),
  /** Patterns of the names of tools, in which `*` is any text. Absent `allow`: all. `deny` takes precedence. */
  tools: v.optional(v.strictObject({ allow: v.optional(names), deny: v.optional(names) })),
  /** The other agents that this one may send messages to and change jobs of. Absent: all. */
  delegates: v.optional(v.array(plainName)),
  toolApproval: v.optional(ownToolApproval),
  /** The agent's own settings, which override those of `workspaceGit` field by field. */
  workspaceGit: v.optional(v.partial(workspaceGit)),
  /** The agent's own settings, which override those of `dreaming` field by field. */
  dreaming: v.optional(
    v.partial(v.strictObject({ ...dreaming.entries, weights: v.partial(dreaming.entries.weights) })),
  ),
});

const binding = v.strictObject({
  agentId: plainName,
  match: v.strictObject({
    channel: v.optional(text(64)),
    accountId: v.optional(text(64)),
    peer: v.optional(v.strictObject({ kind: v.optional(text(64)), id: v.optional(text(256)) })),
  }),
});

const requirements = v.strictObject({
  bins: v.optional(names),
  anyBins: v.optional(names),
  env: v.optional(names),
  config: v.optional(names),
  os: v.optional(names),
  hostRoles: v.optional(names),
  capabilities: v.optional(names),
  anyCapabilities: v.optional(names),
});
const skill = v.strictObject({ enabled: flag, always: flag, requires: v.optional(requirements) });

/** The whole configuration. Strict: an undeclared key is rejected, so that a typing error is noticed. */
export const configurationSchema = v.strictObject({
  model,
  apiKeys: v.record(plainName, secret()),
  timeouts: v.strictObject({
    llmMs: count(1000, 840_000),
    toolMs: count(1000, 3_600_000),
    skillProbeMaxAgeMs: count(0, 86_400_000),
  }),
  /** Origins of web pages that may connect, as browsers send them. Programs send none. */
  allowedOrigins: v.pipe(v.array(origin), v.maxLength(20, "expected at most 20 origins")),
  auth: v.strictObject({ token: v.optional(secret()) }),
  systemPrompt: text(20_000),
  userTimezone: timezone,
  nodes,
  channels: v.record(plainName, channel),
  transcription,
  speech,
  web,
  mcp,
  session: v.strictObject({
    mainKey: text(64),
    dmScope: v.picklist(["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]),
    identityLinks: v.record(text(64), names),
    defaultResetPolicy: v.strictObject(resetPolicyField.entries),
    /** Maximum number of runs in other sessions that one message starts, directly and through other sessions. */
    sendLimit: count(0, 500),
  }),
  skills: v.strictObject({ entries: v.record(text(256), skill) }),
  agents: v.strictObject({
    list: v.pipe(v.array(agent), v.maxLength(100, "expected at most 100 agents")),
    bindings: v.pipe(v.array(binding), v.maxLength(1000, "expected at most 1000 bindings")),
    defaultHeartbeat: heartbeat,
  }),
  compaction: v.strictObject({
    enabled: v.boolean(),
    reserveTokens: count(0, 10_000_000),
    keepRecentTokens: count(0, 10_000_000),
    extractMemories: v.boolean(),
  }),
  context,
  memory: v.strictObject({
    /** Whether a message in a conversation that only the owner reads comes with lines of memories and earlier conversations. */
    autoRecall: v.boolean(),
    /** Whether the agent has the tool `gsv__session_logs`, and `gsv__recall` searches conversations. */
    sessionLogs: v.boolean(),
    /** Whether the agent has `gsv__who_am_i`. */
    selfReport: v.boolean(),
    /** Whether the agent has `gsv__memory`, and `gsv__recall` searches memories. */
    tool: v.boolean(),
  }),
  workspaceGit,
  dreaming,
  budgets,
  toolApproval,
  cron: v.strictObject({
    enabled: v.boolean(),
    maxJobs: count(0, 10_000),
    maxRunsPerJobHistory: count(0, 10_000),
    maxConcurrentRuns: count(1, 100),
  }),
});

/** The configuration's secrets. */
export const configurationSecrets = createSecretPaths(configurationSchema);

/**
 * The effective configuration: defaults merged with overrides, secrets as `***`. Durations in milliseconds.
 */
export type Configuration = v.InferOutput<typeof configurationSchema>;
export type ModelConfiguration = Configuration["model"];
export type ChannelConfiguration = Configuration["channels"][string];
export type AccountSettings = NonNullable<ChannelConfiguration["accounts"]>[string];

/**
 * The first error of a configuration with its path; undefined when it is valid. The reason never contains the
 * value, which may be a misplaced secret.
 */
export function findFault(
  configuration: unknown,
  schema: v.GenericSchema = configurationSchema,
): { path: string[]; reason: string } | undefined {
  const result = v.safeParse(schema, configuration, { abortEarly: true });
  if (result.success) return undefined;
  const issue = result.issues[0];
  const path = (issue.path ?? []).map((step) => String(step.key));
  if (issue.type === "strict_object" && issue.expected === "never") return { path, reason: "unknown key" };
  if (issue.type === "strict_object" && issue.received === "undefined") return { path, reason: "missing" };
  // valibot's own messages start with this word and end with the value; ours are used unchanged.
  const isOwn = !issue.message.startsWith("Invalid ");
  return { path, reason: isOwn ? issue.message : `expected ${issue.expected ?? issue.type}` };
}
