import { crc32 } from "node:zlib";
import type { Key } from "../../../shared/world/world.ts";
import type { StoredItem } from "../keyed-items.ts";

/**
 * A record of a log or snapshot: an item that was put, the key of one that was deleted, or the end of a snapshot. In the
 * file it is one line: the CRC-32 of the JSON text as 8 hexadecimal digits, a space, the JSON text.
 */
export type LogRecord = { put: StoredItem } | { delete: Key } | "end";

const checksumLength = 8;

export function encodePut(item: StoredItem): string {
  return encode(JSON.stringify(item));
}

export function encodeDelete({ pk, sk }: Key): string {
  return encode(JSON.stringify([pk, sk]));
}

export const endRecord = encode('"end"');

function encode(json: string): string {
  return `${crc32(json).toString(16).padStart(checksumLength, "0")} ${json}\n`;
}

/** @param line without its newline. @returns undefined when the line is not what was written */
export function decodeRecord(line: Buffer): LogRecord | undefined {
  const json = line.subarray(checksumLength + 1);
  if (Number.parseInt(line.toString("latin1", 0, checksumLength), 16) !== crc32(json)) return undefined;
  const value = JSON.parse(json.toString()) as StoredItem | [string, string] | "end";
  if (value === "end") return value;
  if (Array.isArray(value)) return { delete: { pk: value[0], sk: value[1] } };
  return { put: value };
}
