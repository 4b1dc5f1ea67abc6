import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { storeError } from "../store-errors.ts";

const syncData = promisify(fdatasync);

/** A log that is written to. What `append` wrote survives the end of the process; after `sync`, also a power loss. */
export class LogFile {
  readonly path: string;
  private readonly file: number;
  private bytes: number;
  /** Set when the file may hold something other than what was appended: then nothing more may be written. */
  private fault: Error | undefined;

  /** @param bytes length of what is kept of the file; what is behind it is cut off */
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

  /** @throws DiskFullError, StoreFolderError; then nothing was written */
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

  /** As `sync`, before it returns. */
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

  /** Cuts off what was written of a record. */
  private takeBack(): void {
    try {
      ftruncateSync(this.file, this.bytes);
    } catch (error) {
      this.refuse(error);
    }
  }

  /**
   * Refuses all further changes. After a failed sync the kernel may have dropped what was written, so that only reading
   * the file again tells what it holds.
   * @returns the error that they are refused with
   */
  refuse(error: unknown): Error {
    this.fault ??= new Error(`the table takes no more changes until it is started again: ${error}`, {
      cause: error,
    });
    return this.fault;
  }
}
