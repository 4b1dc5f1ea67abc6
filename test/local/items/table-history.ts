import type { Item, Key } from "../../../shared/world/world.ts";

export interface WriterOptions {
  fsync: boolean;
  logBytes: number;
  /** The version that each item has when the writer starts. */
  versions: number[];
}

/** Items of a writer are numbered from 0 and spread over a few partitions. */
export function keyAt(item: number): Key {
  return { pk: `P#${item % 5}`, sk: `I#${item}` };
}

/** What an item holds, besides its key, in a version; undefined in those in which it is deleted. Every version has all names. */
export function itemAt(item: number, version: number): Item | undefined {
  if (version === 0 || version % 11 === 0) return undefined;
  const text = `${item}/${version}/ä😀`.repeat(1 + ((version * 37 + item) % 120));
  const dueAt = (version * 7919) % 1000;
  return { version, text, list: [version, { text }], duePk: `D#${version % 3}`, dueAt };
}
