import type { Frame } from "../protocol/frames.ts";
import type { Condition, Step } from "./expression.ts";
import type { Item, Key } from "./item.ts";

export type { Item, ItemValue, Key } from "./item.ts";

/**
 * Everything outside the functions: state, objects, connections, timers, secrets, and starting the agent. The
 * functions use only these types. `shared/aws` implements them with the AWS SDK; `local/world` with function
 * calls. The contract suites in `test/world` run against both.
 */
export interface World {
  table: Table;
  bucket: Bucket;
  presigner: Presigner;
  sockets: Sockets;
  schedules: Schedules;
  secrets: Secrets;
  wake: WakeAgent;
  /** How many agents may run at a time. Absent: any number. */
  maxAgents?: number;
  /** Where that is limited (`inTurn` of `shared/session/agent-slots.ts`). */
  slots?: AgentSlots;
  /**
   * The webhook function's URL, which ends in a slash. Only known to the socket function, which is deployed
   * after that URL exists.
   */
  webhookUrl?: string;
  /** The WebSocket API's address, to which peers connect. */
  gatewayUrl: string;
  /** Origins of the gateway's own web page, which may open sockets. The first one is sent in `hello-ok`. */
  pageOrigins?: readonly string[];
  /** The address for programs that use the agent through MCP. Only known to the socket function. */
  mcpUrl?: string;
  /** The model until the owner sets another. Default: that of the configuration. */
  defaultModel?: { provider: string; id: string; baseUrl?: string };
  /** True when the stage refuses sockets without an Authorization header. */
  requiresHeader?: boolean;
  /** Absent unless the owner pays for metrics. */
  metrics?: Metrics;
  /** Epoch milliseconds. */
  now(): number;
  /** Waits. @returns false if the gateway stops before the time has passed */
  pause(ms: number): Promise<boolean>;
}

/** What is measured of an answered model call. Times in ms. */
export interface CallFigures {
  /** From the start of the invocation to the first text; only of the first call of an invocation. */
  WakeToFirstToken?: number;
  ModelTime: number;
  InputTokens: number;
  OutputTokens: number;
}

/** Metrics over all calls of a stage. */
export interface Metrics {
  record(figures: CallFigures): Promise<void>;
}

/** A read of one partition, in the order of the sort key. Items past `limit` are not read. */
export interface Query {
  pk: string;
  /** Only sort keys with this prefix. */
  prefix?: string;
  /** Only sort keys from here (inclusive) … */
  from?: string;
  /** … to here (inclusive). */
  to?: string;
  limit?: number;
  descending?: boolean;
}

/** A read of one of the sparse indexes: eventually consistent, so only for lists and sweeps. */
export interface IndexQuery {
  index: "list" | "due";
  /** Absent: rows of all partitions, in no order. Without `upTo`, `after` and `descending`. */
  pk?: string;
  /** Only sort values up to this one (inclusive). */
  upTo?: number;
  /** The last row of the previous page. */
  after?: Item;
  limit?: number;
  descending?: boolean;
}

/**
 * The one table: single-item reads and conditional writes, strongly consistent. No transactions, no scans of items.
 * Every write throws ConditionFailed when its condition does not hold. An item has at most 400 KB.
 */
export interface Table {
  get(key: Key): Promise<Item | undefined>;
  put(item: Item & Key, condition?: Condition): Promise<void>;
  /**
   * Creates the item when it is absent, unless the condition forbids it. Returns the whole item as written.
   */
  update(key: Key, steps: readonly Step[], condition?: Condition): Promise<Item>;
  /** Returns the deleted item; undefined when it did not exist. */
  delete(key: Key, condition?: Condition): Promise<Item | undefined>;
  query(query: Query): Promise<Item[]>;
  queryIndex(query: IndexQuery): Promise<Item[]>;
}

/** A conditional write whose condition did not hold. Nothing was written. */
export class ConditionFailed extends Error {
  constructor() {
    super("the condition of a write did not hold");
    this.name = "ConditionFailed";
  }
}

/** Whether a conditional write took place; false when its condition did not hold. */
export async function succeeds(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}

/** Every metadata name: docs/reference/storage-layout.md, "Metadata". */
export const metadataNames = [
  "agentId",
  "archivedAt",
  "inputTokens",
  "messageCount",
  "origins",
  "originalFilename",
  "outputTokens",
  "partNumber",
  "sessionId",
  "sessionKey",
  "totalTokens",
  "uploadedAt",
] as const;

export type MetadataName = (typeof metadataNames)[number];
/** Values may be any Unicode text; the bucket encodes them for its store. */
export type Metadata = Partial<Record<MetadataName, string>>;

export interface ObjectHead {
  contentType: string | undefined;
  metadata: Metadata;
  etag: string;
  /** Epoch milliseconds. */
  lastModified: number;
}

export interface StoredObject extends ObjectHead {
  body: Uint8Array;
}

export interface ObjectStream extends ObjectHead {
  /** Can be read only once. Leaving the loop early ends the download. */
  body: AsyncIterable<Uint8Array>;
}

export interface PutOptions {
  contentType?: string;
  metadata?: Metadata;
  /** Write only if the object still has this ETag … */
  ifMatch?: string;
  /** … or only if there is no object yet. */
  ifAbsent?: boolean;
}

export interface ListedObject {
  key: string;
  size: number;
  /** Epoch milliseconds. */
  lastModified: number;
  etag: string;
}

/** The one bucket (layout: docs/reference/storage-layout.md). Keys are full keys, without a leading slash. */
export interface Bucket {
  /** Undefined when there is no such object. */
  get(key: string): Promise<StoredObject | undefined>;
  /** As `get`, but answers "unchanged" without the body when the object still has this ETag. */
  getIfChanged(key: string, etag: string): Promise<StoredObject | "unchanged" | undefined>;
  /** As `get`, without the body. */
  head(key: string): Promise<ObjectHead | undefined>;
  /** As `get`, for an object of any size: the body is downloaded while it is read. */
  getStream(key: string): Promise<ObjectStream | undefined>;
  /** Returns the new ETag. @throws PreconditionFailed */
  put(key: string, body: Uint8Array | string, options?: PutOptions): Promise<string>;
  /**
   * As `put`, for a body of any size, with a few megabytes in memory at a time. The object appears only when
   * it is complete; after a failure nothing is stored.
   */
  putStream(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<string>;
  /**
   * Deleting a missing object is not an error.
   * @param options `ifMatch`: delete only the object with this ETag. S3 may also refuse a missing object then
   * @throws PreconditionFailed
   */
  delete(key: string, options?: Pick<PutOptions, "ifMatch">): Promise<void>;
  /** All objects under a prefix, in key order; with `delimiter`, deeper levels come back as prefixes. */
  list(prefix: string, delimiter?: "/"): Promise<{ objects: ListedObject[]; prefixes: string[] }>;
}

/** A conditional write that failed because another writer changed the object. Nothing was written. */
export class PreconditionFailed extends Error {
  constructor(key: string) {
    super(`object ${key} was changed by another writer`);
    this.name = "PreconditionFailed";
  }
}

/**
 * Presigned URLs, with which a client without credentials can read or write one object with this function's
 * rights. They expire earlier when the function's credentials expire.
 */
export interface Presigner {
  /** @param seconds lifetime of the URL, at most a week */
  get(key: string, seconds: number): Promise<string>;
  /** As `get`, for an upload of exactly this many bytes. */
  put(key: string, seconds: number, bytes: number): Promise<string>;
}

/**
 * The outcome of posting a frame. "gone": its connection has ended. "too large": it is above 128 KB and was not sent.
 * "busy": the peer does not read earlier frames, and this one was not sent; the connection stays open.
 */
export type Posted = "sent" | "gone" | "too large" | "busy";

export interface PostOptions {
  /** For optional frames: one attempt of at most a second. A peer that takes longer is "busy". */
  once?: boolean;
}

/** Sends to and closes WebSocket connections. */
export interface Sockets {
  /** Posts a frame. Throws only when the service itself fails. */
  post(connectionId: string, frame: Frame, options?: PostOptions): Promise<Posted>;
  /** Closes a connection. No error when it has already ended. */
  close(connectionId: string): Promise<void>;
}

/** The timer function's events. */
export type TimerEvent =
  /** `deadline`: the deadline of the step's tool calls, epoch ms. */
  | { kind: "tool-timeout"; sessionKey: string; runId: string; step: number; deadline: number }
  /** `slot`: the slot of the anonymous sockets to close (`shared/peers/anonymous-sockets.ts`). */
  | { kind: "auth-timeout"; slot: number }
  | { kind: "close"; connectionId: string }
  /** `at`: the scheduled time, epoch ms. */
  | { kind: "reset-due"; sessionKey: string; at: number }
  /** `at`: when requests of a run's step are shown again, epoch ms. */
  | { kind: "approval-reminder"; sessionKey: string; runId: string; step: number; at: number }
  /** `at`: when servers are asked about the tasks of a run's step, epoch ms. */
  | { kind: "task-poll"; sessionKey: string; runId: string; step: number; at: number }
  /** `at`: when a probe of the node times out, epoch ms. */
  | { kind: "probe-timeout"; nodeId: string; at: number }
  /** `at`: the time of the job's run, epoch ms. */
  | { kind: "cron"; jobId: string; at: number }
  /** `at`: the time of the agent's heartbeat tick, epoch ms. */
  | { kind: "heartbeat"; agentId: string; at: number }
  /** `at`: the time of the agent's next sweep of memories, epoch ms. */
  | { kind: "dream"; agentId: string; at: number }
  | { kind: "sweep" }
  /** Fails while a fault is recorded, so that the alarm notifies the owner. */
  | { kind: "watch" };

/** One-shot schedules that invoke the timer function and delete themselves after they have fired. */
export interface Schedules {
  /**
   * @param name unique, at most 64 characters of `[0-9A-Za-z_.-]`; an existing schedule is not changed
   * @param at epoch milliseconds, rounded up to seconds; the schedule fires up to a minute later
   */
  once(name: string, at: number, event: TimerEvent): Promise<void>;
}

/** Secrets by their configuration path, such as `apiKeys.anthropic`. */
export interface Secrets {
  /** Undefined when there is none. */
  get(path: string): Promise<string | undefined>;
  put(path: string, value: string): Promise<void>;
  /** Deleting a missing secret is not an error. */
  delete(path: string): Promise<void>;
}

/**
 * Starts the agent for a session, asynchronously: resolves once the event is accepted.
 * @param configurationVersion the version of the configuration that the caller has just read, if it did
 * @param slot the id of the slot that the agent has, where their number is limited
 */
export type WakeAgent = (sessionKey: string, configurationVersion?: number, slot?: string) => Promise<void>;

/** The slots of agents where only some may run at a time (docs/decisions/ten-executions.md). */
export interface AgentSlots {
  /** Does the work of an agent that was woken with a slot, and gives the slot to the session that waits longest. */
  hold(slot: string, sessionKey: string, work: () => Promise<void>): Promise<void>;
  /** Frees the slots of agents that have died. @returns the sessions that have a slot or wait for one */
  reclaim(): Promise<ReadonlySet<string>>;
}
