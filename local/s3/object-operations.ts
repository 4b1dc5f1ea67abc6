import { attributeHeaders, readAttributes, systemHeaders } from "../objects/attributes.ts";
import {
  isNotModified,
  noSuchKey,
  readRange,
  type WriteCondition,
  writeCondition,
} from "../objects/conditions.ts";
import {
  commitObject,
  findObject,
  type ObjectRecord,
  openObject,
  removeObject,
} from "../objects/object-files.ts";
import { S3Error } from "../objects/s3-error.ts";
import { stage } from "../objects/staging.ts";
import { receiveBody } from "./body.ts";
import { type Answer, bucketArn, type Call, checksumHeaders, objectArn, xmlAnswer } from "./s3-call.ts";
import { decode, type S3Request } from "./s3-request.ts";
import { textElement, xmlDocument } from "./xml.ts";

type Range = { start: number; end: number };

export async function putObject(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key, headers } = request;
  const condition = writeCondition(headers);
  await authorizeWrite(call, condition);
  const attributes = readAttributes(headers);
  const { staged, md5, checksum } = await receiveBody(store.root, request);
  const object = { etag: `"${md5.toString("hex")}"`, checksum, ...attributes };
  const { etag } = await commitObject(store, { bucket, key, condition }, staged, object);
  return { headers: { etag, ...checksumHeaders(checksum) } };
}

export async function getObject(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key } = request;
  await call.authorize("s3:GetObject", objectArn(bucket, key));
  const found = (await openObject(store, bucket, key)) ?? (await missing(call, bucket));
  let streaming = false;
  try {
    const { range, ...answer } = describe(request, found.record);
    if (answer.status === 304 || found.record.size === 0) return answer;
    streaming = true;
    return { ...answer, body: found.body.createReadStream(range) };
  } finally {
    if (!streaming) await found.body.close();
  }
}

export async function headObject(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key } = request;
  await call.authorize("s3:GetObject", objectArn(bucket, key));
  const record = (await findObject(store, bucket, key)) ?? (await missing(call, bucket));
  const { status, headers } = describe(request, record);
  return { status, headers };
}

export async function deleteObject({ request, store, authorize }: Call): Promise<Answer> {
  const { bucket, key } = request;
  await authorize("s3:DeleteObject", objectArn(bucket, key));
  await removeObject(store, bucket, key);
  return { status: 204 };
}

export async function copyObject(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key, headers } = request;
  const source = readCopySource(headers.get("x-amz-copy-source") ?? "");
  const replaces = readDirective(headers.get("x-amz-metadata-directive"));
  const condition = writeCondition(headers);
  if (!store.buckets.has(source.bucket)) throw noSuchBucket();
  await call.authorize("s3:GetObject", objectArn(source.bucket, source.key));
  await authorizeWrite(call, condition);
  if (source.bucket === bucket && source.key === key && !replaces) {
    throw new S3Error(
      "InvalidRequest",
      "An object cannot be copied to itself without changing its metadata.",
    );
  }
  const replacement = replaces ? readAttributes(headers) : undefined;
  const { record, body } =
    (await openObject(store, source.bucket, source.key)) ?? (await missing(call, source.bucket));
  const staged = await stage(store.root, body.createReadStream(), ["md5"]);
  const { metadata, headers: system } = replacement ?? record;
  const etag = `"${staged.digests.get("md5")?.toString("hex")}"`;
  const object = { etag, checksum: record.checksum, metadata, headers: system };
  const copy = await commitObject(store, { bucket, key, condition }, staged, object);
  const children = [textElement("LastModified", copy.lastModified), textElement("ETag", copy.etag)];
  return xmlAnswer(xmlDocument("CopyObjectResult", ...children));
}

/** The error for a bucket that does not exist. */
export function noSuchBucket(): S3Error {
  return new S3Error("NoSuchBucket", "The specified bucket does not exist");
}

/** Rejects with AccessDenied unless the caller may write the object. Whether If-Match holds tells something about the object,
 * so it needs the permission to read it too. */
export async function authorizeWrite(
  { request, authorize }: Call,
  { ifMatch }: WriteCondition,
): Promise<void> {
  const resource = objectArn(request.bucket, request.key);
  await authorize("s3:PutObject", resource);
  if (ifMatch !== undefined) await authorize("s3:GetObject", resource);
}

/** S3 tells only those who may list the bucket that a key is missing; others cannot know it from one they may not read. */
async function missing({ authorize }: Call, bucket: string): Promise<never> {
  await authorize("s3:ListBucket", bucketArn(bucket));
  throw noSuchKey();
}

/** Status and headers of a read, which GET and HEAD share, and the range of bytes to send. */
function describe({ headers, query }: S3Request, record: ObjectRecord) {
  const { etag, lastModified, size } = record;
  const identity = { etag, "last-modified": new Date(lastModified).toUTCString() };
  if (isNotModified(headers, record)) return { status: 304, headers: identity };
  const range: Range | undefined = readRange(headers.get("range"), size);
  const answer: Record<string, string> = {
    ...identity,
    ...attributeHeaders(record),
    ...overrides(query),
    "accept-ranges": "bytes",
    "content-length": String(range ? range.end - range.start + 1 : size),
  };
  if (range) answer["content-range"] = `bytes ${range.start}-${range.end}/${size}`;
  else if (headers.get("x-amz-checksum-mode") === "ENABLED")
    Object.assign(answer, checksumHeaders(record.checksum));
  return { status: range ? 206 : 200, headers: answer, range };
}

function overrides(query: URLSearchParams): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const name of systemHeaders) {
    const value = query.get(`response-${name}`);
    if (value === null) continue;
    if (!/^[\t\x20-\x7e]*$/.test(value))
      throw new S3Error("InvalidArgument", `Invalid value for response-${name}`);
    chosen[name] = value;
  }
  return chosen;
}

function readCopySource(header: string): { bucket: string; key: string } {
  const [path = "", version] = header.split("?");
  if (version !== undefined) throw new S3Error("NotImplemented", "Versions are not implemented");
  const [, bucket, key] = /^\/?([^/]+)\/(.+)$/s.exec(decode(path)) ?? [];
  if (!bucket || !key)
    throw new S3Error("InvalidArgument", "Copy Source must mention the source bucket and key");
  return { bucket, key };
}

function readDirective(header = "COPY"): boolean {
  if (header === "COPY" || header === "REPLACE") return header === "REPLACE";
  throw new S3Error("InvalidArgument", "Unknown metadata directive.");
}
