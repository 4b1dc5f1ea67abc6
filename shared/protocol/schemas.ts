import * as v from "valibot";

/** Building blocks of the method schemas. Sizes are characters unless stated otherwise. */
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

export const sessionKeyField = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(512));
export const idField = name;
export const pathField = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));

/** A file to write: text, or any bytes in base64. */
export const writtenFile = v.pipe(
  v.object({
    path: pathField,
    content: v.optional(v.string()),
    base64: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9+/]*={0,2}$/, "expected base64"))),
    agentId: v.optional(idField),
  }),
  v.check(
    ({ content, base64 }) => (content === undefined) !== (base64 === undefined),
    "expected either content or base64",
  ),
);

export const count = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

/** A whole number; a value outside of the limits becomes the nearer limit. */
export const clampedCount = (min: number, max: number) =>
  v.pipe(
    v.number(),
    v.integer(),
    v.transform((value) => Math.min(max, Math.max(min, value))),
  );
/**
 * A JSON object with fields of any name, unchanged. `v.record` would drop the fields `constructor`, `prototype` and
 * `__proto__`.
 */
export const jsonObject = v.custom<Record<string, unknown>>(isObject, "expected an object");

/** A JSON object with fields of any name that all match one schema, unchanged. */
const objectOf = <T>(field: v.GenericSchema<unknown, T>, expected: string) =>
  v.custom<Record<string, T>>(
    (value) => isObject(value) && Object.values(value).every((one) => v.is(field, one)),
    `expected an object of ${expected}`,
  );

export const resetPolicyField = v.object({
  mode: v.picklist(["manual", "daily", "idle"]),
  atHour: v.optional(count(0, 23)),
  /** 0: every message begins a new conversation. */
  idleMinutes: v.optional(count(0, 525_600)),
});
export type ResetPolicy = v.InferOutput<typeof resetPolicyField>;

/** A change of a reset policy: absent fields keep their values. */
export const resetPolicyPatch = v.partial(resetPolicyField);

export const thinkingLevels = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkingLevel = (typeof thinkingLevels)[number];

/** Aliases of levels. */
const levelAliases: Readonly<Record<string, ThinkingLevel>> = {
  none: "off",
  min: "minimal",
  med: "medium",
  max: "xhigh",
};

/** Parses a thinking level: a name, an alias, or a number from 0 (off) to 5 (xhigh). Undefined for any other text. */
export function parseThinkingLevel(text: string): ThinkingLevel | undefined {
  const wanted = text.trim().toLowerCase();
  if (/^[0-5]$/.test(wanted)) return thinkingLevels[Number(wanted)];
  if (Object.hasOwn(levelAliases, wanted)) return levelAliases[wanted];
  return thinkingLevels.find((level) => level === wanted);
}

/** A model by provider and id, as stored in the configuration and in sessions. */
export const modelField = v.object({ provider: name, id: name });
export type ModelRef = v.InferOutput<typeof modelField>;

export const thinkingLevelField = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }): ThinkingLevel => {
    const level = parseThinkingLevel(dataset.value);
    if (level) return level;
    addIssue({ message: `expected one of ${thinkingLevels.join(", ")}` });
    return NEVER;
  }),
);

export const sessionSettingsField = v.strictObject({
  model: v.optional(v.nullable(v.partial(modelField))),
  thinkingLevel: v.optional(v.nullable(thinkingLevelField)),
  systemPrompt: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(20_000)))),
  maxTokens: v.optional(v.nullable(count(1, 1_000_000))),
});
/** A change of a session's settings: null removes a setting, an absent field keeps it; the same holds for the model's fields. */
export type SessionSettingsPatch = v.InferOutput<typeof sessionSettingsField>;

/** A session's settings. An absent setting is inherited from the agent or the gateway. */
export interface SessionSettings {
  model?: ModelRef;
  thinkingLevel?: ThinkingLevel;
  systemPrompt?: string;
  maxTokens?: number;
}

const toolDefinitionField = v.object({
  name: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, "letters, digits, _ and -, at most 64")),
  description: v.optional(v.pipe(v.string(), v.maxLength(4096)), ""),
  inputSchema: v.optional(jsonObject, { type: "object", properties: {} }),
});

export const capabilities = [
  "filesystem.list",
  "filesystem.read",
  "filesystem.write",
  "filesystem.edit",
  "text.search",
  "shell.exec",
] as const;
export type Capability = (typeof capabilities)[number];

/** A node's description of its host. Only the shape is checked here; `connect` checks the values. */
export const nodeRuntimeField = v.object({
  /** Absent: `execution` for a host with the capabilities of that role, else `specialized`. */
  hostRole: v.optional(v.picklist(["execution", "specialized"], "expected execution or specialized")),
  hostCapabilities: v.array(v.string()),
  toolCapabilities: objectOf(v.array(v.string()), "lists of capabilities"),
  hostOs: v.optional(v.pipe(v.string(), v.maxLength(256))),
  hostEnv: v.optional(v.pipe(v.array(v.string()), v.maxLength(1000))),
  hostBinStatus: v.optional(objectOf(v.boolean(), "true and false")),
  hostBinStatusUpdatedAt: v.optional(v.number()),
});
/** The runtime as a node announces it. */
export type AnnouncedRuntime = v.InferOutput<typeof nodeRuntimeField>;
/** The runtime as the gateway stores it: every host has a role. */
export type NodeRuntime = AnnouncedRuntime & Required<Pick<AnnouncedRuntime, "hostRole">>;

/** The format of a peer's id. */
export const peerIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$/;

export const connectParams = v.object({
  minProtocol: v.number(),
  maxProtocol: v.optional(v.number()),
  client: v.object({
    id: v.pipe(v.string(), v.regex(peerIdPattern, "letters, digits and . _ : @ -, at most 64")),
    version: v.optional(v.pipe(v.string(), v.maxLength(64)), ""),
    platform: v.optional(v.pipe(v.string(), v.maxLength(64)), ""),
    mode: v.string(),
    channel: v.optional(name),
    accountId: v.optional(name),
    instance: v.optional(
      v.pipe(v.string(), v.regex(/^[A-Za-z0-9-]{1,64}$/, "letters, digits and -, at most 64")),
    ),
  }),
  tools: v.optional(v.pipe(v.array(toolDefinitionField), v.maxLength(128))),
  /** `nodeRuntimeField`, checked only for nodes: its errors have a separate code (103). */
  nodeRuntime: v.optional(v.unknown()),
  auth: v.optional(
    v.object({ token: v.optional(v.string()), code: v.optional(v.pipe(v.string(), v.maxLength(64))) }),
  ),
  capabilities: v.optional(v.array(v.string())),
});
export type ConnectParams = v.InferOutput<typeof connectParams>;

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Maximum nesting of lists and objects in a table's item: DynamoDB's limit. */
export const maxNesting = 32;

/**
 * Whether lists and objects are nested deeper than `levels`. A plain value has no level, an empty object one. Not recursive,
 * because the value may come from outside.
 */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Maximum length of `outputTail`, in characters. A longer one loses its start. */
const maxTail = 4000;

/**
 * A node's report on a background command: that it is running, or how it ended. Times are epoch ms. `eventId` is unique; a
 * repeat has the same one. `callId` is the id of the call that started the command, as the node received it.
 */
export const execEvent = v.object({
  eventId: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  sessionId: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  event: v.picklist(["started", "finished", "failed", "timed_out"]),
  callId: v.optional(v.pipe(v.string(), v.maxLength(2048))),
  exitCode: v.nullish(v.number()),
  signal: v.nullish(v.pipe(v.string(), v.maxLength(64))),
  outputTail: v.optional(
    v.pipe(
      v.string(),
      v.transform((text) => text.slice(-maxTail).toWellFormed()),
    ),
  ),
  startedAt: v.nullish(v.number()),
  endedAt: v.nullish(v.number()),
});

export type ExecEvent = v.InferOutput<typeof execEvent>;
