import type { Frame } from "../protocol/frames.ts";
import type { Condition, Step } from "./expression.ts";
import type { Item, Key } from "./item.ts";

export type { Item, ItemValue, Key } from "./item.ts";

/**
 * Everything outside the functions: state, objects, connections, timers, secrets, and the agent itself. The
 * functions know these types alone. `shared/aws` implements them with the AWS SDK; `local/world` with
 * function calls. The contract suites in `test/world` hold for both.
 */
export interface World {
  table: Table;
  bucket: Bucket;
  presigner: Presigner;
  sockets: Sockets;
  schedules: Schedules;
  secrets: Secrets;
  wake: WakeAgent;
  /**
   * The webhook function's URL, which ends in a slash. Known to the socket function alone: that URL has to
   * exist first.
   */
  webhookUrl?: string;
  /** Epoch milliseconds. */
  now(): number;
}

/** A read of one partition, in the order of the sort key. Items past `limit` are not read. */
export interface Query {
  pk: string;
  /** Only sort keys that start so. */
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
  pk: string;
  /** Only sort values up to this one (inclusive). */
  upTo?: number;
  limit?: number;
  descending?: boolean;
}

/**
 * The one table: single-item reads and conditional writes, strongly consistent. No transactions, no scans.
 * Every write throws ConditionFailed when its condition does not hold. An item has at most 400 KB.
 */
export interface Table {
  get(key: Key): Promise<Item | undefined>;
  put(item: Item & Key, condition?: Condition): Promise<void>;
  /**
   * Creates the item when it is absent, unless the condition forbids it. Returns the whole item as written.
   */
  update(key: Key, steps: readonly Step[], condition?: Condition): Promise<Item>;
  /** Returns the item as it was, undefined when there was none. */
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

/** Every metadata name: docs/storage-layout.md, "Metadata". */
export const metadataNames = [
  "agentId",
  "archivedAt",
  "inputTokens",
  "messageCount",
  "originalFilename",
  "outputTokens",
  "partNumber",
  "sessionId",
  "sessionKey",
  "totalTokens",
  "uploadedAt",
] as const;

export type MetadataName = (typeof metadataNames)[number];
/** Values may hold any script: the bucket encodes what its store cannot keep. */
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
  /** To be read once; leaving it early ends the download. */
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

/** The one bucket, laid out as docs/storage-layout.md says. Keys are whole keys, without a leading slash. */
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
   * As `put`, for a body of any size, of which a few megabytes are in memory at a time. The object appears
   * when it is whole; when the body or the upload fails, nothing is left of it.
   */
  putStream(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<string>;
  /** Deleting what is not there is not an error. */
  delete(key: string): Promise<void>;
  /** All objects under a prefix, in key order; with `delimiter`, deeper levels come back as prefixes. */
  list(prefix: string, delimiter?: "/"): Promise<{ objects: ListedObject[]; prefixes: string[] }>;
}

/** A conditional write that another writer came before. Nothing was written. */
export class PreconditionFailed extends Error {
  constructor(key: string) {
    super(`object ${key} was changed by another writer`);
    this.name = "PreconditionFailed";
  }
}

/**
 * URLs by which somebody without credentials reads or writes one object for a while, with this function's
 * rights. They end earlier when the credentials of the function do.
 */
export interface Presigner {
  /** @param seconds how long the URL works, at most a week */
  get(key: string, seconds: number): Promise<string>;
  /** As `get`, for an upload of exactly this many bytes. */
  put(key: string, seconds: number, bytes: number): Promise<string>;
}

/** Sends to and closes WebSocket connections. */
export interface Sockets {
  /**
   * Posts a frame. "gone" when the connection has ended: that is not an error of the sender. "too large" when
   * the frame is above 128 KB, in which case nothing was sent.
   */
  post(connectionId: string, frame: Frame): Promise<"sent" | "gone" | "too large">;
  /** Ends a connection; one that has ended already is fine. */
  close(connectionId: string): Promise<void>;
}

/** What the timer function is invoked with. */
export type TimerEvent =
  /** `deadline`: that of the calls it was made for, epoch ms. */
  | { kind: "tool-timeout"; sessionKey: string; runId: string; step: number; deadline: number }
  | { kind: "auth-timeout"; connectionId: string }
  /** `at`: the time the schedule was made for, epoch ms. */
  | { kind: "reset-due"; sessionKey: string; at: number }
  | { kind: "sweep" };

/** One-shot schedules that invoke the timer function and delete themselves after they have fired. */
export interface Schedules {
  /**
   * @param name unique, at most 64 characters of `[0-9A-Za-z_.-]`; an existing schedule is left as it is
   * @param at epoch milliseconds; it fires at the whole second after it, or within the minute after that
   */
  once(name: string, at: number, event: TimerEvent): Promise<void>;
}

/** Secrets by their configuration path, such as `apiKeys.anthropic`. */
export interface Secrets {
  /** Undefined when there is none. */
  get(path: string): Promise<string | undefined>;
  put(path: string, value: string): Promise<void>;
  /** Deleting what is not there is not an error. */
  delete(path: string): Promise<void>;
}

/** Starts the agent for a session, asynchronously: resolves once the event is accepted. */
export type WakeAgent = (sessionKey: string) => Promise<void>;
