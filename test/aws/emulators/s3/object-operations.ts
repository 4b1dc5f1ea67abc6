import { attributeHeaders, readAttributes } from "../../../../local/objects/attributes.ts";
import {
  isNotModified,
  noSuchKey,
  readRange,
  type WriteCondition,
  writeCondition,
} from "../../../../local/objects/conditions.ts";
import {
  commitObject,
  findObject,
  openObject,
  removeObject,
} from "../../../../local/objects/object-files.ts";
import type { ObjectRecord } from "../../../../local/objects/object-record.ts";
import { S3Error } from "../../../../local/objects/s3-error.ts";
import { receiveBody } from "./body.ts";
import { type Answer, bucketArn, type Call, checksumHeaders, objectArn } from "./s3-call.ts";
import type { S3Request } from "./s3-request.ts";

type Range = { start: number; end: number };

export async function putObject(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key, headers } = request;
  const condition = writeCondition(headers);
  await authorizeWrite(call, condition);
  const attributes = readAttributes(headers);
  const { staged, md5, checksum } = await receiveBody(store, request);
  const object = { etag: `"${md5.toString("hex")}"`, checksum, ...attributes };
  const { etag } = await commitObject(store, { bucket, key, condition }, staged, object);
  return { headers: { etag, ...checksumHeaders(checksum) } };
}

export async function getObject(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key } = request;
  await call.authorize("s3:GetObject", objectArn(bucket, key));
  const found = (await openObject(store, bucket, key)) ?? (await missing(call));
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
  const record = (await findObject(store, bucket, key)) ?? (await missing(call));
  const { status, headers } = describe(request, record);
  return { status, headers };
}

export async function deleteObject(call: Call): Promise<Answer> {
  const { bucket, key, headers } = call.request;
  const condition = writeCondition(headers);
  await authorizeWrite(call, condition, "s3:DeleteObject");
  await removeObject(call.store, bucket, key, condition);
  return { status: 204 };
}

/** The error for a bucket that does not exist. */
export function noSuchBucket(): S3Error {
  return new S3Error("NoSuchBucket", "The specified bucket does not exist");
}

/** Rejects with AccessDenied unless the caller may write or delete the object. If-Match also needs the permission to read it,
 * because its outcome reveals something about the object. */
export async function authorizeWrite(
  { request, authorize }: Call,
  { ifMatch }: WriteCondition,
  action = "s3:PutObject",
): Promise<void> {
  const resource = objectArn(request.bucket, request.key);
  await authorize(action, resource);
  if (ifMatch !== undefined) await authorize("s3:GetObject", resource);
}

/** Throws NoSuchKey to a caller who may list the bucket. Any other caller gets AccessDenied, as for a key that exists. */
async function missing({ request, authorize }: Call): Promise<never> {
  await authorize("s3:ListBucket", bucketArn(request.bucket));
  throw noSuchKey();
}

/** Status and headers of a read, which GET and HEAD share, and the range of bytes to send. */
function describe({ headers }: S3Request, record: ObjectRecord) {
  const { etag, lastModified, size } = record;
  const identity = { etag, "last-modified": new Date(lastModified).toUTCString() };
  if (isNotModified(headers, record)) return { status: 304, headers: identity };
  const range: Range | undefined = readRange(headers.get("range"), size);
  const answer: Record<string, string> = {
    ...identity,
    ...attributeHeaders(record),
    "accept-ranges": "bytes",
    "content-length": String(range ? range.end - range.start + 1 : size),
  };
  if (range) answer["content-range"] = `bytes ${range.start}-${range.end}/${size}`;
  else if (headers.get("x-amz-checksum-mode") === "ENABLED")
    Object.assign(answer, checksumHeaders(record.checksum));
  return { status: range ? 206 : 200, headers: answer, range };
}
