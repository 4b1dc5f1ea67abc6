import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { S3Error } from "./s3-error.ts";

/** Supported digests. Other checksums of S3 (crc32c, crc64nvme) are stored as sent, without verification. */
export type DigestName = "md5" | "sha1" | "sha256" | "crc32";

/** The checksum of a whole body: `algorithm` as in `x-amz-checksum-{algorithm}`, `value` in base64. */
export type Checksum = { algorithm: string; value: string };

/** Digest size in bytes of each algorithm of the x-amz-checksum family. */
const checksumBytes: Record<string, number> = { crc32: 4, crc32c: 4, crc64nvme: 8, sha1: 20, sha256: 32 };

type Digest = { update(chunk: Uint8Array): void; digest(): Buffer };

/** Creates an incremental digest. */
export function createDigest(name: DigestName): Digest {
  if (name === "crc32") return createCrc32();
  const hash = createHash(name);
  return {
    update(chunk) {
      hash.update(chunk);
    },
    digest: () => hash.digest(),
  };
}

/** Digest of one buffer. */
export function digestOf(name: DigestName, bytes: Uint8Array): Buffer {
  const digest = createDigest(name);
  digest.update(bytes);
  return digest.digest();
}

/** The digest of a checksum algorithm; undefined when it is not supported. */
export function computable(algorithm: string): DigestName | undefined {
  return algorithm === "crc32" || algorithm === "sha1" || algorithm === "sha256" ? algorithm : undefined;
}

/** The one `x-amz-checksum-{algorithm}` among these headers or trailers, or undefined. Throws InvalidRequest when there
 * are two, or when the value is not the base64 of a digest of its size. */
export function statedChecksum(headers: ReadonlyMap<string, string>): Checksum | undefined {
  const algorithms = Object.keys(checksumBytes).filter((name) => headers.has(`x-amz-checksum-${name}`));
  const [algorithm] = algorithms;
  if (algorithm === undefined) return undefined;
  if (algorithms.length > 1) throw new S3Error("InvalidRequest", "Expecting a single x-amz-checksum- header");
  const value = headers.get(`x-amz-checksum-${algorithm}`) ?? "";
  if (Buffer.from(value, "base64").length === checksumBytes[algorithm]) return { algorithm, value };
  throw new S3Error("InvalidRequest", `Value for x-amz-checksum-${algorithm} header is invalid.`);
}

function createCrc32(): Digest {
  let value = 0;
  return {
    update(chunk) {
      value = crc32(chunk, value);
    },
    digest() {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    },
  };
}
