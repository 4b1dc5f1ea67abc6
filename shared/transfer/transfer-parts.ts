import { createHash } from "node:crypto";
import { sizeText } from "../runtime/size-text.ts";
import type { Bucket } from "../world/world.ts";
import type { Transfer } from "./transfer-state.ts";

/** Size of every part but the last, in bytes. A machine holds one part in memory at a time. */
export const defaultPartBytes = 8 * 1024 * 1024;

/** Number of parts deleted in parallel. */
const deletedAtOnce = 32;

type Sized = Pick<Transfer, "id" | "size" | "partBytes">;

/** The key of a part. A lifecycle rule removes leftover parts after a day. */
export function transferPartKey(id: number, part: number): string {
  return `payloads/transfer/${id}/${part}`;
}

export function partCount({ size = 0, partBytes }: Pick<Sized, "size" | "partBytes">): number {
  return Math.ceil(size / partBytes);
}

/** Size of one part in bytes. */
export function partSize({ size = 0, partBytes }: Pick<Sized, "size" | "partBytes">, part: number): number {
  return Math.min(partBytes, size - part * partBytes);
}

/** The parts do not make up the file that was sent. */
export class WrongParts extends Error {}

/**
 * Stores a body in parts, one of them in memory at a time.
 * @throws WrongParts above `maxBytes`
 */
export async function storeParts(
  bucket: Pick<Bucket, "put">,
  { id, partBytes }: Pick<Transfer, "id" | "partBytes">,
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ size: number; sha256: string; stored: number }> {
  const hash = createHash("sha256");
  let [size, stored, held] = [0, 0, 0];
  let pieces: Uint8Array[] = [];
  const store = async (): Promise<void> => {
    await bucket.put(transferPartKey(id, stored++), Buffer.concat(pieces));
    [pieces, held] = [[], 0];
  };
  for await (const chunk of body) {
    hash.update(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) throw new WrongParts(`the file has more than ${sizeText(maxBytes)}`);
    for (let at = 0; at < chunk.byteLength; ) {
      const piece = chunk.subarray(at, at + partBytes - held);
      pieces.push(piece);
      held += piece.byteLength;
      at += piece.byteLength;
      if (held === partBytes) await store();
    }
  }
  if (held > 0) await store();
  return { size, sha256: hash.digest("hex"), stored };
}

/**
 * The file, joined from the stored parts. Read it to the end: the last step checks the SHA-256.
 * @throws WrongParts when a part is missing or has a wrong size, or the SHA-256 differs from the source's
 */
export async function* readParts(
  bucket: Pick<Bucket, "get">,
  transfer: Pick<Transfer, "id" | "size" | "partBytes" | "sha256">,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for (let part = 0; part < partCount(transfer); part++) {
    const object = await bucket.get(transferPartKey(transfer.id, part));
    if (object?.body.byteLength !== partSize(transfer, part))
      throw new WrongParts(`part ${part + 1} of ${partCount(transfer)} is missing or has a wrong size`);
    hash.update(object.body);
    yield object.body;
  }
  if (hash.digest("hex") !== transfer.sha256)
    throw new WrongParts("the SHA-256 of the received file differs from that of the sent file");
}

/** Deletes the stored parts, including one that the source may have stored without a report. */
export async function deleteParts(
  bucket: Pick<Bucket, "delete">,
  transfer: Sized & Pick<Transfer, "stored">,
): Promise<void> {
  const count = Math.min(transfer.stored + 1, partCount(transfer));
  for (let start = 0; start < count; start += deletedAtOnce) {
    const some = Array.from({ length: Math.min(deletedAtOnce, count - start) }, (_, i) => start + i);
    await Promise.all(some.map((part) => bucket.delete(transferPartKey(transfer.id, part))));
  }
}
