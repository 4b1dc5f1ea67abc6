import { closeSync, fsyncSync, openSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { KeyedItems, StoredItem } from "../keyed-items.ts";
import { DamagedStoreError, storeError } from "../store-errors.ts";
import { encodePut, endRecord, type KeyRecord } from "./log-record.ts";
import { readRecords } from "./record-file.ts";

/** Characters that are encoded at a time: about a millisecond of work between two turns of the event loop. */
const sliceLength = 256 * 1024;

/** The suffix of a snapshot that is not complete yet. */
export const unfinished = ".tmp";

/**
 * Writes a snapshot. The file appears under its name when it is complete and on the disk.
 * @returns its length in bytes
 * @throws DiskFullError, StoreFolderError; then nothing is left of it
 */
export async function writeSnapshot(
  path: string,
  slices: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  const temporary = `${path}${unfinished}`;
  try {
    const file = await open(temporary, "w", 0o600);
    let bytes = 0;
    try {
      for await (const slice of slices) {
        await file.appendFile(slice);
        bytes += Buffer.byteLength(slice);
      }
      await file.appendFile(endRecord);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    syncFolder(dirname(path));
    return bytes;
  } catch (error) {
    await rm(temporary, { force: true });
    throw storeError(path, error);
  }
}

/** Makes the names of new files in a folder survive a power loss. */
export function syncFolder(dir: string): void {
  const folder = openSync(dir, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** @returns the file's length in bytes. @throws DamagedStoreError */
export function readSnapshot(path: string, each: (record: KeyRecord) => void): number {
  let isComplete = false;
  const { bytes } = readRecords(path, (record) => {
    if (record === "end") isComplete = true;
    else each(record);
  });
  if (isComplete) return bytes;
  throw new DamagedStoreError(`${path} is cut off: restore its folder from a backup`);
}

/**
 * The items as records, a slice at a time. Items may change between two slices; then it is open whether the snapshot
 * has the item as it was or as it is, so changes made after the first slice must stand in a log that is read after it.
 */
export function* slicesOf(items: KeyedItems): Generator<string> {
  let slice = "";
  for (const pk of items.partitionKeys()) {
    let after: string | undefined;
    do {
      let last: StoredItem | undefined;
      for (const item of items.range({ pk, after })) {
        slice += encodePut(item);
        last = item;
        if (slice.length >= sliceLength) break;
      }
      after = undefined;
      if (slice.length < sliceLength) continue;
      yield slice;
      slice = "";
      after = last?.sk;
    } while (after !== undefined);
  }
  yield slice;
}

/** As `slicesOf`, for items that do not come from a store. */
export async function* slicesFrom(items: AsyncIterable<StoredItem>): AsyncGenerator<string> {
  for await (const item of items) yield encodePut(item);
}
