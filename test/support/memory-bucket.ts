import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { compareText } from "../../local/items/text-order.ts";
import { decodeMetadata, encodeMetadata } from "../../shared/world/object-metadata.ts";
import {
  type Bucket,
  type ListedObject,
  PreconditionFailed,
  type PutOptions,
  type StoredObject,
} from "../../shared/world/world.ts";

type Operation = "get" | "getIfChanged" | "head" | "getStream" | "put" | "putStream" | "delete" | "list";

/** A `Bucket` in memory with S3's conditions, which records its requests. */
export interface MemoryBucket extends Bucket {
  /** The number of requests, by operation. */
  readonly calls: Record<Operation, number>;
  /** Objects whose body was returned: successful gets, and conditional gets of a changed object. */
  readonly downloads: string[];
  /** The key or prefix of each request with its operation, oldest first. */
  readonly requests: { operation: Operation; key: string }[];
  /** Resets the counters and records. */
  resetCounters(): void;
  /** Text of an object, without counting a request; undefined if it does not exist. */
  peek(key: string): string | undefined;
  /** Keys of all objects, in order. */
  keys(): string[];
  /** Another bucket with the same objects and fresh counters. */
  copy(): MemoryBucket;
}

/**
 * ETags are those of S3 (the quoted MD5 of the body).
 * @param turn awaited before each operation; by default a turn of the event loop
 */
export function createMemoryBucket(
  initial: Record<string, string | Uint8Array> = {},
  turn: () => Promise<unknown> = nextTurn,
): MemoryBucket {
  const objects = Object.entries(initial).map(([key, body]) => [key, objectOf(body)] as const);
  return bucketOf(new Map(objects), turn);
}

/** An object that is stored now. */
function objectOf(body: Uint8Array | string, options: PutOptions = {}): StoredObject {
  const bytes = Buffer.from(body);
  return {
    ...{ body: bytes, contentType: options.contentType },
    etag: `"${createHash("md5").update(bytes).digest("hex")}"`,
    metadata: decodeMetadata(encodeMetadata(options.metadata ?? {})),
    lastModified: Math.floor(Date.now() / 1000) * 1000, // S3 keeps whole seconds.
  };
}

/** @param objects by key; stored objects are not modified */
function bucketOf(objects: Map<string, StoredObject>, turn: () => Promise<unknown>): MemoryBucket {
  const calls: Record<Operation, number> = {
    get: 0,
    getIfChanged: 0,
    head: 0,
    getStream: 0,
    put: 0,
    putStream: 0,
    delete: 0,
    list: 0,
  };
  const downloads: string[] = [];
  const requests: { operation: Operation; key: string }[] = [];

  /** All keys, ordered by their bytes. */
  const sorted = [...objects.keys()].sort(compareText);
  /** Index of the first key that is not before this one. */
  const placeOf = (key: string) => {
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compareText(sorted[middle] ?? "", key) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  };

  const store = (key: string, body: Uint8Array | string, options: PutOptions = {}): string => {
    const object = objectOf(body, options);
    if (!objects.has(key)) sorted.splice(placeOf(key), 0, key);
    objects.set(key, object);
    return object.etag;
  };
  const storeIf = (key: string, body: Uint8Array | string, options: PutOptions): string => {
    const current = objects.get(key);
    const refused = options.ifAbsent
      ? current !== undefined
      : options.ifMatch !== undefined && current?.etag !== options.ifMatch;
    if (refused) throw new PreconditionFailed(key);
    return store(key, body, options);
  };
  const request = async (operation: Operation, key: string) => {
    calls[operation]++;
    requests.push({ operation, key });
    await turn();
  };
  const download = (key: string): StoredObject | undefined => {
    const object = objects.get(key);
    if (!object) return undefined;
    downloads.push(key);
    return { ...object, body: new Uint8Array(object.body), metadata: { ...object.metadata } };
  };

  return {
    calls,
    downloads,
    requests,
    resetCounters() {
      for (const operation of Object.keys(calls) as Operation[]) calls[operation] = 0;
      downloads.length = 0;
      requests.length = 0;
    },
    peek: (key) => (objects.has(key) ? Buffer.from(objects.get(key)!.body).toString("utf8") : undefined),
    keys: () => [...sorted],
    copy: () => bucketOf(new Map(objects), turn),
    async get(key) {
      await request("get", key);
      return download(key);
    },
    async getIfChanged(key, etag) {
      await request("getIfChanged", key);
      return objects.get(key)?.etag === etag ? "unchanged" : download(key);
    },
    async head(key) {
      await request("head", key);
      const { body: _, ...head } = objects.get(key) ?? { body: undefined };
      return "etag" in head ? { ...head, metadata: { ...head.metadata } } : undefined;
    },
    async getStream(key) {
      await request("getStream", key);
      const object = download(key);
      return object && { ...object, body: inPieces(object.body) };
    },
    async put(key, body, options = {}) {
      await request("put", key);
      return storeIf(key, body, options);
    },
    async putStream(key, body, options = {}) {
      await request("putStream", key);
      const pieces: Uint8Array[] = [];
      for await (const piece of body) pieces.push(piece);
      return storeIf(key, Buffer.concat(pieces), options);
    },
    async delete(key, { ifMatch } = {}) {
      await request("delete", key);
      if (ifMatch !== undefined && objects.has(key) && objects.get(key)?.etag !== ifMatch)
        throw new PreconditionFailed(key);
      if (objects.delete(key)) sorted.splice(placeOf(key), 1);
    },
    async list(prefix, delimiter) {
      await request("list", prefix);
      const found: ListedObject[] = [];
      const prefixes = new Set<string>();
      for (let at = placeOf(prefix); sorted[at]?.startsWith(prefix); at++) {
        const key = sorted[at] ?? "";
        const end = delimiter ? key.indexOf(delimiter, prefix.length) : -1;
        const { body, lastModified, etag } = objects.get(key)!;
        if (end >= 0) prefixes.add(key.slice(0, end + 1));
        else found.push({ key, size: body.byteLength, lastModified, etag });
      }
      return { objects: found, prefixes: [...prefixes] };
    },
  };
}

async function* inPieces(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < body.byteLength; start += 1000) yield body.subarray(start, start + 1000);
}
