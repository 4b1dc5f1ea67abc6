import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncFolder } from "../sync-folder.ts";
import { type Checksum, createDigest, type DigestName } from "./checksums.ts";
import type { Locks } from "./locks.ts";
import { systemErrorCode } from "./s3-error.ts";

/** A body on disk that nothing refers to yet. */
export type Staged = {
  /** Its name in the staging folder. */
  id: string;
  path: string;
  /** In bytes. */
  size: number;
  digests: Map<DigestName, Buffer>;
};

/** A staged body that matches all digests of its request. */
export type Received = { staged: Staged; md5: Buffer; checksum?: Checksum };

/** A store's root folder with the locks that order its changes. */
export type Disk = {
  root: string;
  lock: Locks;
  /** Whether each file is synced to the disk. */
  fsync: boolean;
};

/** Name of the lock under which folders are made and removed. No bucket has an empty name, so it is no object's lock. */
const folderLock = "/folders";

/** Folder of bodies and records that are being written. Files in it without a reference are garbage. */
export function stagingFolder(root: string): string {
  return join(root, ".staging");
}

/** Writes a body to the staging folder as it arrives, and computes its digests on the way. Rejects, and leaves nothing
 * behind, when the source or the disk fails. */
export async function stage(
  { root, fsync }: Pick<Disk, "root" | "fsync">,
  source: AsyncIterable<Uint8Array>,
  names: readonly DigestName[],
): Promise<Staged> {
  const id = randomUUID();
  const path = join(stagingFolder(root), id);
  const running = new Map(names.map((name) => [name, createDigest(name)]));
  let size = 0;
  async function* measured() {
    for await (const chunk of source) {
      for (const digest of running.values()) digest.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  }
  try {
    await writeFile(path, measured(), { flag: "wx", flush: fsync });
  } catch (error) {
    await discard(path);
    throw error;
  }
  const digests = new Map([...running].map(([name, digest]) => [name, digest.digest()]));
  return { id, path, size, digests };
}

/** Writes `value` as JSON to `path` in one step: at every moment the file is absent, old or new, and whole. */
export async function writeJson(disk: Disk, path: string, value: unknown): Promise<void> {
  const staged = join(stagingFolder(disk.root), `${randomUUID()}.json`);
  try {
    await writeFile(staged, `${JSON.stringify(value, null, 2)}\n`, { flag: "wx", flush: disk.fsync });
    await place(disk, staged, path);
  } catch (error) {
    await discard(staged);
    throw error;
  }
}

/** Renames a file over `path`, and makes the folders it needs. With `fsync` the new name survives a power failure. */
export async function place(disk: Disk, from: string, path: string): Promise<void> {
  await renameInto(disk, from, path);
  if (disk.fsync) syncFolder(dirname(path));
}

async function renameInto({ lock }: Disk, from: string, path: string): Promise<void> {
  try {
    await rename(from, path);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    await lock(folderLock, async () => {
      await mkdir(dirname(path), { recursive: true });
      await rename(from, path);
    });
  }
}

/** Removes `folder` and those above it, as long as they are empty, up to `top`, which stays. */
export async function removeEmptyFolders({ lock }: Disk, folder: string, top: string): Promise<void> {
  await lock(folderLock, async () => {
    for (let current = folder; current !== top; current = dirname(current)) {
      try {
        await rmdir(current);
      } catch {
        return;
      }
    }
  });
}

/** Removes a staged file if it exists. Errors are ignored: the next start removes leftover files. */
export async function discard(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}
