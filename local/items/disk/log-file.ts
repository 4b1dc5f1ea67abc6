import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { StoreFolderError, storeError } from "../store-errors.ts";

const syncData = promisify(fdatasync);

/**
 * An open log. Appended records survive the end of the process; after `sync` they survive a power failure.
 */
export class LogFile {
  readonly path: string;
  private readonly file: number;
  private bytes: number;
  /** Set when the file's content is uncertain. Further appends are then rejected with this error. */
  private fault: Error | undefined;

  /** @param bytes the file is truncated to this length */
  constructor(path: string, bytes: number) {
    this.path = path;
    this.bytes = bytes;
    try {
      this.file = openSync(path, "a", 0o600);
      ftruncateSync(this.file, bytes);
    } catch (error) {
      throw storeError(path, error);
    }
  }

  get size(): number {
    return this.bytes;
  }

  /** Appends a record. @throws DiskFullError, StoreFolderError; the record is then not in the file */
  append(record: string): void {
    if (this.fault) throw this.fault;
    const bytes = Buffer.from(record);
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.file, bytes, written);
    } catch (error) {
      this.takeBack();
      throw storeError(this.path, error);
    }
    this.bytes += bytes.length;
  }

  sync(): Promise<void> {
    return syncData(this.file);
  }

  /** Like `sync`, but synchronous. */
  syncNow(): void {
    try {
      fdatasyncSync(this.file);
    } catch (error) {
      throw this.refuse(error);
    }
  }

  close(): void {
    this.fault ??= new Error("the table is closed");
    closeSync(this.file);
  }

  /** Removes a partly written record. */
  private takeBack(): void {
    try {
      ftruncateSync(this.file, this.bytes);
    } catch (error) {
      this.refuse(error);
    }
  }

  /**
   * Rejects all further changes. After a failed sync the kernel may have dropped written data. Only a
   * restart, which reads the file again, shows its content.
   * @returns the error of the rejected changes
   */
  refuse(error: unknown): Error {
    const message = `${this.path} gets no more changes until gsv is started again: ${error}`;
    this.fault ??= new StoreFolderError(message, { cause: error });
    return this.fault;
  }
}
