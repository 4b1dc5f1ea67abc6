import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { KeyedItems, StoredItem } from "../keyed-items.ts";
import { DamagedStoreError } from "../store-errors.ts";
import { readRecords } from "./record-file.ts";
import { readSnapshot, unfinished } from "./snapshot-file.ts";

/**
 * The files of a table: `log-N` and `snapshot-N`, N from 1. A snapshot includes the changes of all logs with
 * lower numbers. The table is the newest snapshot N plus the logs from N on. `log-N` is created before
 * `snapshot-N`.
 */
export interface LoadedFiles {
  /** Number of the log to append to. */
  number: number;
  /** Size of its complete records, in bytes. */
  logBytes: number;
  /** 0 when there is no snapshot. */
  snapshotBytes: number;
}

export const logPath = (dir: string, number: number) => join(dir, `log-${number}`);
export const snapshotPath = (dir: string, number: number) => join(dir, `snapshot-${number}`);

/**
 * Reads the table of a folder and deletes obsolete files.
 * @param items receives the table's items
 * @throws DamagedStoreError
 */
export function loadFiles(dir: string, items: KeyedItems): LoadedFiles {
  const snapshot = numbersOf(dir, "snapshot").at(-1);
  const first = snapshot ?? 1;
  removeFilesBefore(dir, first);
  const logs = numbersOf(dir, "log");
  logs.forEach((number, i) => {
    if (number === first + i) return;
    throw new DamagedStoreError(`${logPath(dir, first + i)} is missing: restore its folder from a backup`);
  });
  const { changes, logBytes } = readLogs(dir, logs);
  const put = (item: string | undefined) => {
    if (item !== undefined) items.put(JSON.parse(item) as StoredItem);
  };
  let snapshotBytes = 0;
  if (snapshot !== undefined) {
    snapshotBytes = readSnapshot(snapshotPath(dir, snapshot), ({ key, item }) => {
      if (!changes.has(key)) put(item);
    });
  }
  for (const item of changes.values()) put(item);
  return { number: logs.at(-1) ?? first, logBytes, snapshotBytes };
}

/** The last item of each key in the logs, as text; undefined where it was deleted. */
function readLogs(dir: string, logs: readonly number[]) {
  const changes = new Map<string, string | undefined>();
  let logBytes = 0;
  for (const log of logs) {
    const { bytes, isTorn } = readRecords(logPath(dir, log), (record) => {
      if (record !== "end") changes.set(record.key, record.item);
    });
    logBytes = bytes;
    if (isTorn && log !== logs.at(-1)) {
      throw new DamagedStoreError(`${logPath(dir, log)} is cut off: restore its folder from a backup`);
    }
  }
  return { changes, logBytes };
}

/** Deletes logs and snapshots with lower numbers, and incomplete snapshots. */
export function removeFilesBefore(dir: string, number: number): void {
  for (const kind of ["log", "snapshot"] as const) {
    for (const old of numbersOf(dir, kind)) if (old < number) rmSync(join(dir, `${kind}-${old}`));
  }
  for (const name of readdirSync(dir)) if (name.endsWith(unfinished)) rmSync(join(dir, name));
}

/** Numbers of the files of a kind, lowest first. */
function numbersOf(dir: string, kind: "log" | "snapshot"): number[] {
  const pattern = new RegExp(`^${kind}-([1-9]\\d*)$`);
  const numbers = readdirSync(dir).flatMap((name) => pattern.exec(name)?.slice(1).map(Number) ?? []);
  return numbers.sort((a, b) => a - b);
}
