import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { decodeMetadata, encodeMetadata } from "../world/object-metadata.ts";
import {
  type Bucket,
  type ListedObject,
  type ObjectHead,
  PreconditionFailed,
  type PutOptions,
  type StoredObject,
} from "../world/world.ts";
import { type BucketLimits, bucketLimits, clientSettings } from "./call-limits.ts";

/** Size of every part of a multipart upload but the last, in bytes. */
const defaultPartBytes = 8 * 1024 * 1024;

/** Maximum size of a body that is sent with the short time limit (`answerMs`), in bytes. */
const smallBytes = 1024 * 1024;

/**
 * Region, credentials and endpoint come from the environment, as the SDK reads them.
 * @param partBytes part size of multipart uploads, in bytes. S3 requires at least 5 MiB, and at most 10,000 parts.
 */
export function openS3Bucket(
  bucketName: string,
  limits: BucketLimits = bucketLimits,
  partBytes = defaultPartBytes,
): Bucket {
  // Uploads of lib-storage use the client's limit, so it is set to `bodyMs`.
  const client = new S3Client(clientSettings({ ...limits, answerMs: limits.bodyMs }));
  const soon = { requestTimeout: limits.answerMs };
  const fetch = async (key: string, etag?: string) => {
    const request = { Bucket: bucketName, Key: key, IfNoneMatch: etag };
    return unlessAbsent(client.send(new GetObjectCommand(request), soon));
  };
  const get = async (key: string, etag?: string): Promise<StoredObject | "unchanged" | undefined> => {
    const found = await fetch(key, etag);
    if (typeof found !== "object") return found;
    return { ...headOf(found), body: (await found.Body?.transformToByteArray()) ?? new Uint8Array() };
  };
  return {
    get: async (key) => (await get(key)) as StoredObject | undefined,
    getIfChanged: get,
    async head(key) {
      const command = new HeadObjectCommand({ Bucket: bucketName, Key: key });
      const found = await unlessAbsent(client.send(command, soon));
      return typeof found === "object" ? headOf(found) : undefined;
    },
    async getStream(key) {
      const found = await fetch(key);
      if (typeof found !== "object") return undefined;
      // In Node.js the SDK's body is a Readable, which is an iterable of bytes.
      return { ...headOf(found), body: found.Body as unknown as AsyncIterable<Uint8Array> };
    },
    async put(key, body, options = {}) {
      const command = new PutObjectCommand({ ...writeRequest(bucketName, key, options), Body: body });
      const sent = client.send(command, body.length > smallBytes ? {} : soon);
      return (await unlessRefused(key, options, sent)).ETag ?? "";
    },
    putStream(key, body, options = {}) {
      const request = writeRequest(bucketName, key, options);
      return unlessRefused(key, options, uploadStream(client, request, body, partBytes));
    },
    async delete(key, { ifMatch } = {}) {
      const command = new DeleteObjectCommand({ Bucket: bucketName, Key: key, IfMatch: ifMatch });
      await unlessRefused(key, { ifMatch }, client.send(command, soon));
    },
    list: (prefix, delimiter) => listPages((page) => client.send(page, soon), bucketName, prefix, delimiter),
  };
}

function headOf(output: GetObjectCommandOutput | HeadObjectCommandOutput): ObjectHead {
  return {
    contentType: output.ContentType,
    metadata: decodeMetadata(output.Metadata),
    etag: output.ETag ?? "",
    lastModified: output.LastModified?.getTime() ?? 0,
  };
}

/**
 * Writes a body of any length with at most two parts in memory. Up to one part it uses PutObject, else a
 * multipart upload, which is aborted after a failure. A lifecycle rule removes uploads that a crash left
 * incomplete. Returns the ETag.
 */
async function uploadStream(
  client: S3Client,
  request: ReturnType<typeof writeRequest>,
  body: AsyncIterable<Uint8Array>,
  partSize: number,
): Promise<string> {
  const params = { ...request, Body: Readable.from(body) };
  const written = await new Upload({ client, params, partSize, queueSize: 1 }).done();
  return written.ETag ?? "";
}

function writeRequest(Bucket: string, Key: string, options: PutOptions) {
  const { contentType, metadata = {}, ifMatch, ifAbsent } = options;
  return {
    Bucket,
    Key,
    ContentType: contentType,
    Metadata: encodeMetadata(metadata),
    IfMatch: ifMatch,
    IfNoneMatch: ifAbsent ? "*" : undefined,
  };
}

/** Undefined when the object does not exist, "unchanged" when it still has the requested ETag. */
async function unlessAbsent<T>(sent: Promise<T>): Promise<T | "unchanged" | undefined> {
  try {
    return await sent;
  } catch (error) {
    if (error instanceof NoSuchKey || statusOf(error) === 404) return undefined;
    if (statusOf(error) === 304) return "unchanged";
    throw error;
  }
}

/** @throws PreconditionFailed */
async function unlessRefused<T>(key: string, { ifMatch }: PutOptions, sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    // S3 answers 409 to concurrent conditional writes, and 404 to If-Match on a deleted object.
    const lost = [409, 412].includes(statusOf(error) ?? 0) || (ifMatch && statusOf(error) === 404);
    throw lost ? new PreconditionFailed(key) : error;
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

async function listPages(
  send: (page: ListObjectsV2Command) => Promise<ListObjectsV2CommandOutput>,
  bucket: string,
  prefix: string,
  delimiter: string | undefined,
) {
  const objects: ListedObject[] = [];
  const prefixes: string[] = [];
  let token: string | undefined;
  do {
    const page = await send(
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
