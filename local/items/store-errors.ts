/** Why a store cannot be opened or written, in one line for the user. */
export class StoreError extends Error {}

/** The folder belongs to a store that is open, in this process or another. */
export class StoreLockedError extends StoreError {
  override name = "StoreLockedError";
}

/** A change was refused because the disk has no room for it. Nothing of it is kept; it may be tried again. */
export class DiskFullError extends StoreError {
  override name = "DiskFullError";
}

/** The folder cannot be made, read or written. */
export class StoreFolderError extends StoreError {
  override name = "StoreFolderError";
}

/** A file does not hold what was written to it. */
export class DamagedStoreError extends StoreError {
  override name = "DamagedStoreError";
}

/** No space, no quota, and the process's own limit of a file's size. */
const fullDisk = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** The store's error for one of the file system; any other error as it is. */
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
