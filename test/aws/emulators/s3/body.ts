import { readFile } from "node:fs/promises";
import {
  type Checksum,
  computable,
  type DigestName,
  statedChecksum,
} from "../../../../local/objects/checksums.ts";
import type { Store } from "../../../../local/objects/object-files.ts";
import { S3Error } from "../../../../local/objects/s3-error.ts";
import { discard, type Received, type Staged, stage } from "../../../../local/objects/staging.ts";
import type { S3Request } from "./s3-request.ts";

/** Largest body of one request: 5 GiB. */
const maximumBytes = 5 * 1024 ** 3;
/** Largest XML document; 1,000 keys or 10,000 parts stay below it. */
const maximumDocumentBytes = 4 * 1024 ** 2;

/**
 * Streams the body of a request to the staging folder and verifies it. Nothing is left behind when this rejects. Throws
 * MissingContentLength, NotImplemented (HTTP chunks without a length), EntityTooLarge, IncompleteBody, BadDigest, InvalidDigest,
 * InvalidRequest, MalformedTrailerError, XAmzContentSHA256Mismatch.
 */
export async function receiveBody(store: Store, { headers, body }: S3Request): Promise<Received> {
  const contentHash = headers.get("x-amz-content-sha256") ?? "";
  const chunked = contentHash.startsWith("STREAMING-");
  const length = declaredLength(headers, chunked);
  const trailers = new Map<string, string>();
  const trailerName = headers.get("x-amz-trailer")?.toLowerCase();
  const inHeaders = statedChecksum(headers);
  const algorithm = inHeaders?.algorithm ?? trailerName?.replace("x-amz-checksum-", "");
  const names = new Set<DigestName>(["md5"]);
  if (/^[0-9a-f]{64}$/.test(contentHash)) names.add("sha256");
  const computed = computable(algorithm ?? "");
  if (computed) names.add(computed);

  const staged = await stage(store, chunked ? decodeChunked(body, trailers) : body, [...names]);
  try {
    if (staged.size !== length) {
      throw new S3Error("IncompleteBody", "The body is not as long as the request says it is");
    }
    if (trailerName !== undefined && !(trailers.has(trailerName) && statedChecksum(trailers))) {
      throw new S3Error(
        "MalformedTrailerError",
        `The trailer ${trailerName} is missing, or is not a checksum`,
      );
    }
    verifyHeaders(headers, contentHash, staged);
    const checksum = inHeaders ?? statedChecksum(trailers);
    verifyChecksum(checksum, staged);
    return { staged, md5: digest(staged, "md5"), checksum };
  } catch (error) {
    await discard(staged.path);
    throw error;
  }
}

/** As {@link receiveBody}, for an operation whose body is an XML document. Throws MalformedXML when it is too long. */
export async function receiveDocument(store: Store, request: S3Request): Promise<string> {
  const { staged } = await receiveBody(store, request);
  try {
    if (staged.size <= maximumDocumentBytes) return await readFile(staged.path, "utf8");
    throw new S3Error("MalformedXML", `The XML document is longer than ${maximumDocumentBytes} bytes`);
  } finally {
    await discard(staged.path);
  }
}

function declaredLength(headers: Map<string, string>, chunked: boolean): number {
  const declared = headers.get(chunked ? "x-amz-decoded-content-length" : "content-length");
  if (declared === undefined && !chunked && headers.has("transfer-encoding")) {
    throw new S3Error(
      "NotImplemented",
      "A header you provided implies functionality that is not implemented",
    );
  }
  if (!/^\d{1,15}$/.test(declared ?? "")) {
    throw new S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.");
  }
  if (Number(declared) > maximumBytes) {
    throw new S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
  }
  return Number(declared);
}

function verifyHeaders(headers: Map<string, string>, contentHash: string, staged: Staged): void {
  const md5 = headers.get("content-md5");
  if (md5 !== undefined) {
    const bytes = Buffer.from(md5, "base64");
    if (bytes.length !== 16) throw new S3Error("InvalidDigest", "The Content-MD5 you specified was invalid.");
    if (!bytes.equals(digest(staged, "md5"))) throw badDigest("Content-MD5");
  }
  if (/^[0-9a-f]{64}$/.test(contentHash) && digest(staged, "sha256").toString("hex") !== contentHash) {
    const message = "The provided 'x-amz-content-sha256' header does not match what was computed.";
    throw new S3Error("XAmzContentSHA256Mismatch", message);
  }
}

function verifyChecksum(stated: Checksum | undefined, staged: Staged): void {
  const name = computable(stated?.algorithm ?? "");
  if (!stated || !name) return;
  if (!digest(staged, name).equals(Buffer.from(stated.value, "base64"))) throw badDigest(name.toUpperCase());
}

function digest({ digests }: Staged, name: DigestName): Buffer {
  const value = digests.get(name);
  if (!value) throw new Error(`${name} was not computed`);
  return value;
}

function badDigest(name: string): S3Error {
  return new S3Error("BadDigest", `The ${name} you specified did not match the calculated checksum.`);
}

/** Longest chunk header or trailer line, in bytes. */
const maximumLineBytes = 8 * 1024;

/**
 * The payload inside an `aws-chunked` body, piece by piece (S3 API reference, "Signature calculations: transferring payload in
 * multiple chunks"). Chunk signatures are passed over. Trailing headers are put into `trailers`, lower-cased, before the
 * iteration ends. Throws IncompleteBody for a body that ends early or is not framed so.
 */
async function* decodeChunked(
  source: AsyncIterable<Buffer>,
  trailers: Map<string, string>,
): AsyncGenerator<Buffer> {
  const reader = createReader(source);
  for (;;) {
    const header = /^([0-9a-f]{1,8})(?:;.*)?$/i.exec(await reader.line());
    if (!header?.[1]) throw incomplete("a chunk does not begin with its size");
    const size = Number.parseInt(header[1], 16);
    if (size === 0) break;
    yield* reader.take(size);
    if ((await reader.line()) !== "") throw incomplete("a chunk is longer than its size");
  }
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    const colon = line.indexOf(":");
    if (colon > 0) trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

function createReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let pending: Buffer = Buffer.alloc(0);

  async function next(): Promise<Buffer> {
    const result = await chunks.next();
    if (result.done) throw incomplete("the body ends before its last chunk");
    return result.value;
  }

  return {
    async line(): Promise<string> {
      for (;;) {
        const end = pending.indexOf("\r\n");
        if (end >= 0) {
          const line = pending.toString("latin1", 0, end);
          pending = pending.subarray(end + 2);
          return line;
        }
        if (pending.length > maximumLineBytes) throw incomplete("a chunk header does not end");
        pending = Buffer.concat([pending, await next()]);
      }
    },
    async *take(size: number): AsyncGenerator<Buffer> {
      for (let left = size; left > 0; ) {
        if (pending.length === 0) pending = await next();
        const piece = pending.subarray(0, left);
        pending = pending.subarray(piece.length);
        left -= piece.length;
        yield piece;
      }
    },
  };
}

function incomplete(reason: string): S3Error {
  return new S3Error("IncompleteBody", `The request body is not a whole aws-chunked body: ${reason}.`);
}
