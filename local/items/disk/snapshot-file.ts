import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../../sync-folder.ts";
import type { KeyedItems, StoredItem } from "../keyed-items.ts";
import { DamagedStoreError, storeError } from "../store-errors.ts";
import { encodePut, endRecord, type KeyRecord } from "./log-record.ts";
import { readRecords } from "./record-file.ts";

/** Characters that are encoded in one turn of the event loop: about 1 ms of work. */
const sliceLength = 256 * 1024;

/** The suffix of a snapshot that is not complete yet. */
export const unfinished = ".tmp";

/**
 * Writes a snapshot. The file gets its final name when it is complete and synced.
 * @returns its length in bytes
 * @throws DiskFullError, StoreFolderError; no file is left then
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
 * Encodes the items as records, in slices. Items may change between slices, and the snapshot may contain
 * their old or new state. Changes after the first slice must therefore be in a log that is read after the
 * snapshot.
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
