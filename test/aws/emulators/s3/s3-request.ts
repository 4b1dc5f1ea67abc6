import type { IncomingMessage } from "node:http";
import { S3Error } from "../../../../local/objects/s3-error.ts";
import { accessKeyIdOf } from "../access.ts";

/** A request in S3's terms, path style. The body is not read yet. */
export type S3Request = {
  method: string;
  bucket: string;
  /** Empty for a request to the bucket itself. */
  key: string;
  query: URLSearchParams;
  /** Names in lower case, values as sent. */
  headers: Map<string, string>;
  /** From the signature; undefined for a request that carries none. */
  accessKeyId: string | undefined;
  /** Whether the signature is in the query. */
  presigned: boolean;
  body: IncomingMessage;
};

/** Longest key, in bytes of UTF-8. */
const maximumKeyBytes = 1024;
/** Longest life of a presigned URL: a week, in seconds. */
const maximumExpiresSeconds = 604_800;

const presignParameters = [
  "X-Amz-Algorithm",
  "X-Amz-Credential",
  "X-Amz-Date",
  "X-Amz-Expires",
  "X-Amz-SignedHeaders",
];

/**
 * Reads target and caller from a request. Signatures are not verified, but a presigned URL must be whole and not expired.
 * Throws InvalidURI, KeyTooLongError, AuthorizationQueryParametersError, InvalidRequest (a signature other than
 * Signature Version 4) and AccessDenied ("Request has expired").
 */
export function readRequest(message: IncomingMessage): S3Request {
  const [path = "/", ...search] = (message.url ?? "/").split("?");
  const query = new URLSearchParams(search.join("?"));
  // Not `new URL`: it would resolve the `..` that a key may hold.
  const [, bucket = "", key = ""] = /^\/([^/]*)(?:\/(.*))?$/s.exec(decode(path)) ?? [];
  if (Buffer.byteLength(key) > maximumKeyBytes) throw new S3Error("KeyTooLongError", "Your key is too long");
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(",") : value);
  }
  const presigned = query.has("X-Amz-Signature");
  const accessKeyId = presigned ? readPresigned(query) : readAuthorization(message);
  return {
    method: message.method ?? "GET",
    bucket,
    key,
    query,
    headers,
    accessKeyId,
    presigned,
    body: message,
  };
}

/** Undoes percent-encoding. Throws InvalidURI for what is not UTF-8. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error("InvalidURI", "Couldn't parse the specified URI.");
  }
}

function readAuthorization({ headers }: IncomingMessage): string | undefined {
  const accessKeyId = accessKeyIdOf(headers);
  if (accessKeyId !== undefined || headers.authorization === undefined) return accessKeyId;
  const message =
    "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.";
  throw new S3Error("InvalidRequest", message);
}

function readPresigned(query: URLSearchParams): string {
  const [algorithm, credential, date, expires] = presignParameters.map((name) => {
    const value = query.get(name);
    if (!value) throw badPresign(`Query-string authentication requires the parameter ${name}`);
    return value;
  });
  if (algorithm !== "AWS4-HMAC-SHA256") throw badPresign('X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"');
  const seconds = /^\d{1,9}$/.test(expires ?? "") ? Number(expires) : Number.NaN;
  if (!(seconds <= maximumExpiresSeconds))
    throw badPresign("X-Amz-Expires must be a number of seconds up to a week");
  const signedAt = parseAmzDate(date ?? "");
  if (Number.isNaN(signedAt))
    throw badPresign("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  const accessKeyId = /^([^/]+)\/\d{8}\/[^/]+\/s3\/aws4_request$/.exec(credential ?? "")?.[1];
  if (accessKeyId === undefined) throw badPresign("Error parsing the X-Amz-Credential parameter");
  if (Date.now() >= signedAt + seconds * 1000) throw new S3Error("AccessDenied", "Request has expired");
  return accessKeyId;
}

/** `20260131T235959Z` as epoch milliseconds, NaN for anything else. */
function parseAmzDate(text: string): number {
  if (!/^\d{8}T\d{6}Z$/.test(text)) return Number.NaN;
  return Date.parse(text.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

function badPresign(message: string): S3Error {
  return new S3Error("AuthorizationQueryParametersError", message);
}
