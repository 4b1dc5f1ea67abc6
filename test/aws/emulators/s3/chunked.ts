import { S3Error } from "../../../../local/objects/s3-error.ts";

/** Longest chunk header or trailer line, in bytes. */
const maximumLineBytes = 8 * 1024;

/**
 * The payload inside an `aws-chunked` body, piece by piece (S3 API reference, "Signature calculations: transferring payload in
 * multiple chunks"). Chunk signatures are passed over. Trailing headers are put into `trailers`, lower-cased, before the
 * iteration ends. Throws IncompleteBody for a body that ends early or is not framed so.
 */
export async function* decodeChunked(
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
