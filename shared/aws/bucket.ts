import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { decodeMetadata, encodeMetadata, type Metadata } from "./metadata.ts";

export interface StoredObject {
  body: Uint8Array;
  contentType: string | undefined;
  metadata: Metadata;
  etag: string;
  /** Epoch milliseconds. */
  lastModified: number;
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
  /** Returns the new ETag. @throws PreconditionFailed */
  put(key: string, body: Uint8Array | string, options?: PutOptions): Promise<string>;
  /** Deleting what is not there is not an error. */
  delete(key: string): Promise<void>;
  /** All objects under a prefix, in key order; with `delimiter`, deeper levels come back as prefixes. */
  list(prefix: string, delimiter?: "/"): Promise<{ objects: ListedObject[]; prefixes: string[] }>;
}

/** The bucket over S3; region, credentials and endpoint come from the environment, as the SDK reads them. */
export function openBucket(bucketName: string): Bucket {
  const client = new S3Client({ maxAttempts: 5 });
  const get = async (key: string, etag?: string): Promise<StoredObject | "unchanged" | undefined> => {
    try {
      const output = await client.send(
        new GetObjectCommand({ Bucket: bucketName, Key: key, IfNoneMatch: etag }),
      );
      return {
        body: (await output.Body?.transformToByteArray()) ?? new Uint8Array(),
        contentType: output.ContentType,
        metadata: decodeMetadata(output.Metadata),
        etag: output.ETag ?? "",
        lastModified: output.LastModified?.getTime() ?? 0,
      };
    } catch (error) {
      if (error instanceof NoSuchKey || statusOf(error) === 404) return undefined;
      if (statusOf(error) === 304) return "unchanged";
      throw error;
    }
  };
  return {
    get: async (key) => (await get(key)) as StoredObject | undefined,
    getIfChanged: get,
    async put(key, body, { contentType, metadata = {}, ifMatch, ifAbsent } = {}) {
      const request = { Bucket: bucketName, Key: key, Body: body, ContentType: contentType };
      const condition = { IfMatch: ifMatch, IfNoneMatch: ifAbsent ? "*" : undefined };
      try {
        const command = new PutObjectCommand({
          ...request,
          ...condition,
          Metadata: encodeMetadata(metadata),
        });
        return (await client.send(command)).ETag ?? "";
      } catch (error) {
        // 409 is S3's answer to two conditional writes at the same moment; 404 to If-Match on a deleted object.
        const lost = [409, 412].includes(statusOf(error) ?? 0) || (ifMatch && statusOf(error) === 404);
        throw lost ? new PreconditionFailed(key) : error;
      }
    },
    async delete(key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucketName, Key: key }));
    },
    list: (prefix, delimiter) => listPages(client, bucketName, prefix, delimiter),
  };
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

async function listPages(client: S3Client, bucket: string, prefix: string, delimiter: string | undefined) {
  const objects: ListedObject[] = [];
  const prefixes: string[] = [];
  let token: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        Delimiter: delimiter,
        ContinuationToken: token,
      }),
    );
    for (const entry of page.Contents ?? []) {
      const { Key: key = "", Size: size = 0, ETag: etag = "" } = entry;
      objects.push({ key, size, etag, lastModified: entry.LastModified?.getTime() ?? 0 });
    }
    for (const entry of page.CommonPrefixes ?? []) prefixes.push(entry.Prefix ?? "");
    token = page.NextContinuationToken;
  } while (token);
  return { objects, prefixes };
}
