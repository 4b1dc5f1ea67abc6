import * as v from "valibot";

/** Building blocks of the method schemas. Sizes are characters unless said otherwise. */
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

export const sessionKeyField = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(512));
export const idField = name;
export const pathField = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
export const count = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
/**
 * A JSON object with fields of any name, kept as it is. `v.record` would drop the fields `constructor`,
 * `prototype` and `__proto__`.
 */
export const jsonObject = v.custom<Record<string, unknown>>(isObject, "expected an object");

/** A JSON object whose fields of any name have one schema, kept as it is. */
const objectOf = <T>(field: v.GenericSchema<unknown, T>, expected: string) =>
  v.custom<Record<string, T>>(
    (value) => isObject(value) && Object.values(value).every((one) => v.is(field, one)),
    `expected an object of ${expected}`,
  );

export const resetPolicyField = v.object({
  mode: v.picklist(["manual", "daily", "idle"]),
  atHour: v.optional(count(0, 23)),
  idleMinutes: v.optional(count(1, 525_600)),
});
export type ResetPolicy = v.InferOutput<typeof resetPolicyField>;

export const thinkingLevels = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkingLevel = (typeof thinkingLevels)[number];

/** A model by provider and id, as configuration and sessions hold it. */
export const modelField = v.object({ provider: name, id: name });
export type ModelRef = v.InferOutput<typeof modelField>;

export const sessionSettingsField = v.strictObject({
  model: v.optional(v.nullable(modelField)),
  thinkingLevel: v.optional(v.nullable(v.picklist(thinkingLevels))),
  systemPrompt: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(20_000)))),
  maxTokens: v.optional(v.nullable(count(1, 1_000_000))),
});
/** A change of a session's settings: null removes a setting, an absent field keeps it. */
export type SessionSettingsPatch = v.InferOutput<typeof sessionSettingsField>;

/** A session's settings. An absent setting is inherited from the agent or the gateway. */
export interface SessionSettings {
  model?: ModelRef;
  thinkingLevel?: ThinkingLevel;
  systemPrompt?: string;
  maxTokens?: number;
}

export const toolDefinitionField = v.object({
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

/**
 * Only the shape is checked here. `connect` checks the values, because their errors have their own code
 * (103).
 */
export const nodeRuntimeField = v.object({
  hostRole: v.string(),
  hostCapabilities: v.array(v.string()),
  toolCapabilities: objectOf(v.array(v.string()), "lists of capabilities"),
  hostOs: v.optional(v.pipe(v.string(), v.maxLength(256))),
  hostEnv: v.optional(v.pipe(v.array(v.string()), v.maxLength(1000))),
  hostBinStatus: v.optional(objectOf(v.boolean(), "true and false")),
  hostBinStatusUpdatedAt: v.optional(v.number()),
});
export type NodeRuntime = v.InferOutput<typeof nodeRuntimeField>;

export const connectParams = v.object({
  minProtocol: v.number(),
  maxProtocol: v.optional(v.number()),
  client: v.object({
    id: v.pipe(
      v.string(),
      v.regex(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$/, "letters, digits and . _ : @ -, at most 64"),
    ),
    version: v.optional(v.pipe(v.string(), v.maxLength(64)), ""),
    platform: v.optional(v.pipe(v.string(), v.maxLength(64)), ""),
    mode: v.string(),
    channel: v.optional(name),
    accountId: v.optional(name),
  }),
  tools: v.optional(v.pipe(v.array(toolDefinitionField), v.maxLength(128))),
  nodeRuntime: v.optional(nodeRuntimeField),
  auth: v.optional(v.object({ token: v.optional(v.string()) })),
  capabilities: v.optional(v.array(v.string())),
});
export type ConnectParams = v.InferOutput<typeof connectParams>;

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
