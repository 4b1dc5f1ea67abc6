import { crc32 } from "node:zlib";
import type { Key } from "../../../shared/world/world.ts";
import type { StoredItem } from "../keyed-items.ts";

/**
 * A record of a log or snapshot: what one key holds, or the end of a snapshot. In the file it is one line: the CRC-32 of
 * what follows as 8 hexadecimal digits, a space, the key, and a tab and the item where there is one.
 */
export type LogRecord = KeyRecord | "end";

/** The item stays text, since a later record of the same key often replaces it before anybody reads it. */
export interface KeyRecord {
  /** JSON of the partition key and the sort key in a list. */
  key: string;
  /** JSON of the item; undefined when it was deleted. */
  item: string | undefined;
}

const checksumLength = 8;
const tab = "\t".charCodeAt(0);
const end = "end";

export function encodePut(item: StoredItem): string {
  return encode(`${keyText(item)}\t${JSON.stringify(item)}`);
}

export function encodeDelete(key: Key): string {
  return encode(keyText(key));
}

export const endRecord = encode(end);

function keyText({ pk, sk }: Key): string {
  return JSON.stringify([pk, sk]);
}

/** JSON has neither tabs nor newlines outside of its texts, and writes those in texts as `\t` and `\n`. */
function encode(content: string): string {
  return `${crc32(content).toString(16).padStart(checksumLength, "0")} ${content}\n`;
}

/** @param line without its newline. @returns undefined when the checksum does not match */
export function decodeRecord(line: Buffer): LogRecord | undefined {
  const content = line.subarray(checksumLength + 1);
  if (Number.parseInt(line.toString("latin1", 0, checksumLength), 16) !== crc32(content)) return undefined;
  const split = content.indexOf(tab);
  if (split >= 0)
    return { key: content.toString("utf8", 0, split), item: content.toString("utf8", split + 1) };
  const key = content.toString();
  return key === end ? end : { key, item: undefined };
}
