import { lazily } from "./lazily.ts";
import type { Metadata } from "./metadata.ts";

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

/** A conditional write that another writer came before. Nothing was written. */
export class PreconditionFailed extends Error {
  constructor(key: string) {
    super(`object ${key} was changed by another writer`);
    this.name = "PreconditionFailed";
  }
}

/** The one bucket, laid out as the storage layout says. Keys are whole keys, without a leading slash. */
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
   * As `put`, for a body of any size, of which a few megabytes are in memory at a time. The object appears when it is
   * whole; when the body or the upload fails, nothing is left of it.
   */
  putStream(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<string>;
  /** Deleting what is not there is not an error. */
  delete(key: string): Promise<void>;
  /** All objects under a prefix, in key order; with `delimiter`, deeper levels come back as prefixes. */
  list(prefix: string, delimiter?: "/"): Promise<{ objects: ListedObject[]; prefixes: string[] }>;
}

/** The bucket over S3, whose client is loaded when it is first used. */
export function openBucket(bucketName: string): Bucket {
  const methods = {
    get: true,
    getIfChanged: true,
    head: true,
    getStream: true,
    put: true,
    putStream: true,
    delete: true,
    list: true,
  } as const;
  return lazily<Bucket>(methods, async () => (await import("./s3-bucket.ts")).openS3Bucket(bucketName));
}
