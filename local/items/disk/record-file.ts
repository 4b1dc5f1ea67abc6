import { closeSync, openSync, readSync } from "node:fs";
import { DamagedStoreError } from "../store-errors.ts";
import { decodeRecord, type LogRecord } from "./log-record.ts";

const chunkBytes = 1024 * 1024;
const newline = 10;

/**
 * Reads the records of a log or snapshot in order. Bytes after the last newline are an incomplete record and
 * ignored.
 * @returns total bytes of the complete records, and whether an incomplete record follows
 * @throws DamagedStoreError when the checksum of a complete line does not match
 */
export function readRecords(
  path: string,
  each: (record: LogRecord) => void,
): { bytes: number; isTorn: boolean } {
  const file = openSync(path, "r");
  try {
    let rest = Buffer.alloc(0);
    let bytes = 0;
    let line = 0;
    const chunk = Buffer.alloc(chunkBytes);
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const text = Buffer.concat([rest, chunk.subarray(0, read)]);
      let start = 0;
      for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline, start)) {
        line += 1;
        const record = decodeRecord(text.subarray(start, end));
        if (record === undefined) throw damaged(path, line);
        each(record);
        start = end + 1;
      }
      rest = text.subarray(start);
      bytes += start;
    }
    return { bytes, isTorn: rest.length > 0 };
  } finally {
    closeSync(file);
  }
}

function damaged(path: string, line: number): DamagedStoreError {
  return new DamagedStoreError(
    `${path} is damaged at line ${line}: restore its folder from a backup, or delete that line, which loses one change`,
  );
}
