import type { Bucket } from "../../world/world.ts";

/** Vectors of the turns in a segment's object. */
export interface SegmentVectors {
  /** The embedder's name. */
  name: string;
  /** Numbers of one vector. */
  dimensions: number;
  /** The message numbers of the turns with a vector, in the order of the vectors. */
  turns: number[];
  /** All vectors, concatenated. */
  numbers: Int8Array;
  /** Whether all turns that need a vector have one. */
  complete: boolean;
}

const version = 1;

/** The key prefix of the vectors of an agent's segments. */
export function vectorsPrefix(agentId: string): string {
  return `agents/${agentId}/recall/v/`;
}

/** The key of the vectors that belong to a segment's object. */
export function vectorsKey(segmentKey: string): string {
  return segmentKey.replace(/\/recall\/s\/([^/]+)\.json\.gz$/, "/recall/v/$1.bin");
}

/** Writes a line of JSON that describes the vectors, then the vectors as bytes. @returns its ETag */
export function writeVectors(bucket: Bucket, key: string, vectors: SegmentVectors): Promise<string> {
  const { numbers, ...about } = vectors;
  const head = Buffer.from(`${JSON.stringify({ v: version, ...about })}\n`);
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  return bucket.put(key, Buffer.concat([head, bytes]), { contentType: "application/octet-stream" });
}

/** Undefined when there are none or they cannot be read. */
export async function readVectors(bucket: Bucket, key: string): Promise<SegmentVectors | undefined> {
  const object = await bucket.get(key);
  const body = Buffer.from(object?.body ?? "");
  const end = body.indexOf("\n");
  try {
    const { v, ...about } = JSON.parse(body.toString("utf8", 0, Math.max(0, end)));
    const numbers = Int8Array.from(body.subarray(end + 1));
    const isWhole = v === version && numbers.length === about.turns.length * about.dimensions;
    return isWhole ? { ...about, numbers } : undefined;
  } catch {
    return undefined;
  }
}
