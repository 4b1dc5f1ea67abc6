/** A store cannot be opened or written. The message is one line for the user. */
export class StoreError extends Error {}

/** The folder is locked by an open store, in this or another process. */
export class StoreLockedError extends StoreError {
  override name = "StoreLockedError";
}

/** A change was rejected because the disk is full. Nothing was written; the change can be retried. */
class DiskFullError extends StoreError {
  override name = "DiskFullError";
}

/** The folder cannot be created, read or written. */
export class StoreFolderError extends StoreError {
  override name = "StoreFolderError";
}

/** The content of a file is damaged. */
export class DamagedStoreError extends StoreError {
  override name = "DamagedStoreError";
}

/** No space, no quota, and the process's own limit of a file's size. */
const fullDisk = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Converts a file system error to a StoreError. Returns other errors unchanged. */
export function storeError(path: string, error: unknown): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  if (fullDisk.has(code))
    return new DiskFullError(`cannot write ${path}: the disk is full`, { cause: error });
  return new StoreFolderError(`cannot use ${path}: ${reasons[code] ?? message}`, { cause: error });
}

const reasons: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOTDIR: "part of its path is a file",
  EEXIST: "it is a file, not a folder",
};
