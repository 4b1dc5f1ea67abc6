import { S3Error } from "../../../../local/objects/s3-error.ts";
import { listObjectsV2 } from "./list-objects.ts";
import {
  abortMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  uploadPart,
} from "./multipart-operations.ts";
import { deleteObject, getObject, headObject, putObject } from "./object-operations.ts";
import type { Operation } from "./s3-call.ts";
import type { S3Request } from "./s3-request.ts";

/** How an operation is recognized, and what else its request may hold. */
type Route = {
  method: string;
  on: "bucket" | "object";
  /** A query parameter that tells it from others of its method. */
  marker?: string;
  operation: Operation;
  /** Query parameters it understands. */
  query?: RegExp;
  /** Headers it understands, of those that ask for something (`x-amz-…`, `if-…`). */
  headers?: RegExp;
};

const checksums = "checksum-(crc32|crc32c|crc64nvme|sha1|sha256)";
const body = `x-amz-(decoded-content-length|trailer|sdk-checksum-algorithm|${checksums})`;
const metadata = "x-amz-meta-.+";
const writeConditions = "if-(none-)?match";
const readConditions = "if-(none-)?match|x-amz-checksum-mode";

/** Headers that belong to signing and to every request. */
const commonHeaders = /^x-amz-(date|content-sha256|security-token|user-agent)$/;
/** Query parameters of a presigned URL. S3 ignores a checksum there: by default the SDK signs that of an empty body. */
const presignParameters = new RegExp(
  `^x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|content-sha256|user-agent|sdk-checksum-algorithm|checksum-mode|${checksums})$`,
  "i",
);

const routes: readonly Route[] = [
  {
    method: "GET",
    on: "bucket",
    marker: "list-type",
    operation: listObjectsV2,
    query: /^(list-type|prefix|delimiter|max-keys|continuation-token|start-after|encoding-type)$/,
  },
  { method: "GET", on: "object", operation: getObject, headers: only(readConditions) },
  { method: "HEAD", on: "object", operation: headObject, headers: only(readConditions) },
  {
    method: "POST",
    on: "object",
    marker: "uploads",
    operation: createMultipartUpload,
    query: /^uploads$/,
    headers: only(metadata, "x-amz-checksum-algorithm"),
  },
  {
    method: "POST",
    on: "object",
    marker: "uploadId",
    operation: completeMultipartUpload,
    query: /^uploadId$/,
    headers: only(writeConditions),
  },
  {
    method: "PUT",
    on: "object",
    marker: "uploadId",
    operation: uploadPart,
    query: /^(uploadId|partNumber)$/,
    headers: only(body),
  },
  { method: "PUT", on: "object", operation: putObject, headers: only(body, metadata, writeConditions) },
  {
    method: "DELETE",
    on: "object",
    marker: "uploadId",
    operation: abortMultipartUpload,
    query: /^uploadId$/,
  },
  { method: "DELETE", on: "object", operation: deleteObject, headers: only("if-match") },
];

/**
 * The operation a request asks for. Throws MethodNotAllowed, and NotImplemented for every operation, query parameter or
 * header outside this subset of S3, so that nothing is silently left undone.
 */
export function findOperation(request: S3Request): Operation {
  const { method, key, query, headers, presigned } = request;
  if (!["GET", "HEAD", "PUT", "POST", "DELETE"].includes(method)) {
    throw new S3Error("MethodNotAllowed", "The specified method is not allowed against this resource.");
  }
  const route = routes.find(
    ({ method: wanted, on, marker }) =>
      wanted === method &&
      on === (key === "" ? "bucket" : "object") &&
      (marker === undefined || query.has(marker)),
  );
  if (!route) throw notImplemented(`${method} on this resource`);
  for (const name of query.keys()) {
    const common = name === "x-id" || (presigned && presignParameters.test(name));
    if (!common && !route.query?.test(name)) throw notImplemented(`the query parameter ${name}`);
  }
  for (const name of headers.keys()) {
    const asks = /^(x-amz|if)-/.test(name) && !commonHeaders.test(name);
    if (asks && !route.headers?.test(name)) throw notImplemented(`the header ${name}`);
  }
  return route.operation;
}

function only(...names: string[]): RegExp {
  return new RegExp(`^(?:${names.join("|")})$`);
}

function notImplemented(what: string): S3Error {
  return new S3Error("NotImplemented", `Functionality that is not implemented here was asked for: ${what}`);
}
