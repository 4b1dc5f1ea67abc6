import { readAttributes } from "../../../../local/objects/attributes.ts";
import { digestOf } from "../../../../local/objects/checksums.ts";
import { writeCondition } from "../../../../local/objects/conditions.ts";
import { commitObject } from "../../../../local/objects/object-files.ts";
import { S3Error } from "../../../../local/objects/s3-error.ts";
import { discard, stage } from "../../../../local/objects/staging.ts";
import {
  createUpload,
  findParts,
  type NamedPart,
  putPart,
  readParts,
  removeUpload,
  withUpload,
} from "../../../../local/objects/uploads.ts";
import { receiveBody, receiveDocument } from "./body.ts";
import { authorizeWrite } from "./object-operations.ts";
import { type Answer, type Call, objectArn, xmlAnswer } from "./s3-call.ts";
import { childText, parseXml, textElement, type XmlElement, xmlDocument } from "./xml.ts";

/** Highest number a part may have. */
const maximumPartNumber = 10_000;

export async function createMultipartUpload({ request, store, authorize }: Call): Promise<Answer> {
  const { bucket, key, headers } = request;
  await authorize("s3:PutObject", objectArn(bucket, key));
  const initiated = new Date().toISOString();
  const checksumAlgorithm = headers.get("x-amz-checksum-algorithm")?.toLowerCase();
  const attributes = readAttributes(headers);
  const uploadId = await createUpload(store, { bucket, key, initiated, checksumAlgorithm, ...attributes });
  const children = [
    textElement("Bucket", bucket),
    textElement("Key", key),
    textElement("UploadId", uploadId),
  ];
  return xmlAnswer(xmlDocument("InitiateMultipartUploadResult", ...children));
}

export async function uploadPart({ request, store, authorize }: Call): Promise<Answer> {
  const { bucket, key, query } = request;
  await authorize("s3:PutObject", objectArn(bucket, key));
  const number = readPartNumber(query.get("partNumber"));
  const target = { uploadId: query.get("uploadId") ?? "", bucket, key };
  const received = await receiveBody(store, request);
  try {
    await withUpload(store, target, ({ checksumAlgorithm: expected }) => {
      const actual = received.checksum?.algorithm;
      if (expected !== undefined && actual !== expected) throw checksumMismatch(expected, actual);
      return putPart(store, target.uploadId, number, received);
    });
  } finally {
    await discard(received.staged.path);
  }
  const { md5, checksum } = received;
  const stated = checksum ? { [`x-amz-checksum-${checksum.algorithm}`]: checksum.value } : {};
  return { headers: { etag: `"${md5.toString("hex")}"`, ...stated } };
}

export async function completeMultipartUpload(call: Call): Promise<Answer> {
  const { request, store } = call;
  const { bucket, key, query } = request;
  const uploadId = query.get("uploadId") ?? "";
  const condition = writeCondition(request.headers);
  await authorizeWrite(call, condition);
  const named = await readNamedParts(call);
  return withUpload(store, { uploadId, bucket, key }, async ({ headers, metadata, checksumAlgorithm }) => {
    if (checksumAlgorithm && named.some(({ checksum }) => checksum === undefined)) {
      const message = `The upload was created using a ${checksumAlgorithm} checksum. The complete request must include the checksum for each part.`;
      throw new S3Error("InvalidRequest", message);
    }
    const parts = await findParts(store, uploadId, named);
    const staged = await stage(store, readParts(store, uploadId, parts), []);
    const digests = Buffer.concat(parts.map(({ md5 }) => Buffer.from(md5, "hex")));
    const etag = `"${digestOf("md5", digests).toString("hex")}-${parts.length}"`;
    await commitObject(store, { bucket, key, condition }, staged, { etag, headers, metadata });
    await removeUpload(store, uploadId);
    const children = [textElement("Bucket", bucket), textElement("Key", key), textElement("ETag", etag)];
    return xmlAnswer(xmlDocument("CompleteMultipartUploadResult", ...children));
  });
}

export async function abortMultipartUpload({ request, store, authorize }: Call): Promise<Answer> {
  const { bucket, key, query } = request;
  await authorize("s3:AbortMultipartUpload", objectArn(bucket, key));
  const uploadId = query.get("uploadId") ?? "";
  await withUpload(store, { uploadId, bucket, key }, () => removeUpload(store, uploadId));
  return { status: 204 };
}

function checksumMismatch(expected: string, actual: string | undefined): S3Error {
  const types = `expected checksum Type: ${expected}, actual checksum Type: ${actual ?? "null"}`;
  return new S3Error("InvalidRequest", `Checksum Type mismatch occurred, ${types}`);
}

async function readNamedParts({ request, store }: Call): Promise<NamedPart[]> {
  const document = await receiveDocument(store, request);
  const root = parseXml(document, "CompleteMultipartUpload");
  const parts = root.children.filter(({ name }) => name === "Part");
  if (parts.length === 0) throw new S3Error("MalformedXML", "You must specify at least one part");
  return parts.map(readNamedPart);
}

function readNamedPart(part: XmlElement): NamedPart {
  const checksum = part.children.find(({ name }) => name.startsWith("Checksum"))?.text;
  return {
    number: readPartNumber(childText(part, "PartNumber")),
    etag: childText(part, "ETag") ?? "",
    checksum,
  };
}

function readPartNumber(text: string | null | undefined): number {
  const number = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
  if (number >= 1 && number <= maximumPartNumber) return number;
  throw new S3Error(
    "InvalidArgument",
    `Part number must be an integer between 1 and ${maximumPartNumber}, inclusive`,
  );
}
