import { chmod, type FileHandle, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkWrite, type WriteCondition } from "./conditions.ts";
import { createLocks } from "./locks.ts";
import { decodeFile, decodeFolder, encodeKey } from "./object-paths.ts";
import type { NewObject, ObjectRecord } from "./object-record.ts";
import { S3Error, systemErrorCode } from "./s3-error.ts";
import {
  type Disk,
  discard,
  place,
  removeEmptyFolders,
  type Staged,
  stagingFolder,
  writeJson,
} from "./staging.ts";

/**
 * Objects on plain files. Under `root`:
 *
 *   {bucket}/agents/main/SOUL.md                  the body, under a readable name (see object-paths.ts)
 *   .metadata/{bucket}/agents/main/SOUL.md.json   its record: everything else
 *   .staging/{id}                                 a body being written, or not yet moved to its place
 *   .uploads/{uploadId}/                          a multipart upload (see uploads.ts)
 *
 * Replacing the record, by one rename, is what makes a write happen. The body waits in the staging folder under the id that
 * the record names, and is moved to its readable place afterwards; readers look in both. So a process that is
 * killed anywhere, or a move that fails, leaves the old object or the new one, whole.
 *
 * One process at a time owns a root: requests for one key are put in order within it.
 */
export type Store = Disk & { buckets: ReadonlySet<string> };

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Opens the store, finishes or removes what a killed process left half done, and makes missing buckets. Rejects when a
 * bucket's name is not one S3 allows, or the folder cannot be written. */
export async function openStore(
  root: string,
  buckets: readonly string[],
  { fsync = false }: { fsync?: boolean } = {},
): Promise<Store> {
  const wrong = buckets.find((bucket) => !bucketName.test(bucket));
  if (wrong !== undefined) throw new Error(`not a bucket name: ${JSON.stringify(wrong)}`);
  await mkdir(root, { recursive: true, mode: 0o700 });
  // The folder of an earlier version may be open to other users.
  await chmod(root, 0o700);
  for (const bucket of buckets) await mkdir(join(root, bucket), { recursive: true });
  await mkdir(join(root, ".metadata"), { recursive: true });
  await mkdir(stagingFolder(root), { recursive: true });
  const store = { root, fsync, buckets: new Set(buckets), lock: createLocks() };
  await sweepStaging(store);
  return store;
}

/** The record of an object, or undefined when there is none. */
export async function findObject(
  store: Store,
  bucket: string,
  key: string,
): Promise<ObjectRecord | undefined> {
  const record = await readRecord(recordPath(store, bucket, key));
  return record?.key === key ? record : undefined;
}

/** An object and its open body, which the caller closes. The body stays this object's own whatever is written meanwhile. */
export async function openObject(
  store: Store,
  bucket: string,
  key: string,
): Promise<{ record: ObjectRecord; body: FileHandle } | undefined> {
  return store.lock(`${bucket}/${key}`, async () => {
    const record = await findObject(store, bucket, key);
    if (!record) return undefined;
    const path = bodyPath(store, bucket, key);
    const staged = await openExisting(join(stagingFolder(store.root), record.id));
    const body = staged ?? (await open(path));
    if ((await body.stat()).size === record.size) return { record, body };
    await body.close();
    throw new S3Error("InternalError", `${path} was changed by something other than this server`);
  });
}

/** Makes a staged body the object at `key`, if the condition holds at that moment. The staged body is gone afterwards,
 * also when this rejects. Throws PreconditionFailed, NoSuchKey. */
export async function commitObject(
  store: Store,
  target: { bucket: string; key: string; condition: WriteCondition },
  staged: Staged,
  object: NewObject,
): Promise<ObjectRecord> {
  const { bucket, key, condition } = target;
  const lastModified = `${new Date().toISOString().slice(0, 19)}.000Z`;
  const record: ObjectRecord = { key, id: staged.id, size: staged.size, lastModified, ...object };
  return store.lock(`${bucket}/${key}`, async () => {
    const path = recordPath(store, bucket, key);
    try {
      const current = await readRecord(path);
      // Only on a file system that does not tell apart upper and lower case, or two spellings of one character.
      if (current && current.key !== key) {
        throw new S3Error("InternalError", `this file system cannot hold ${key} beside ${current.key}`);
      }
      checkWrite(condition, current);
      await writeJson(store, path, record);
    } catch (error) {
      await discard(staged.path);
      throw error;
    }
    await place(store, staged.path, bodyPath(store, bucket, key)).catch(() => undefined);
    return record;
  });
}

/** Removes an object, if the condition holds. Removing what is not there is not an error. Throws PreconditionFailed. */
export async function removeObject(
  store: Store,
  bucket: string,
  key: string,
  condition: WriteCondition = {},
): Promise<void> {
  await store.lock(`${bucket}/${key}`, async () => {
    const record = await findObject(store, bucket, key);
    if (!record) return;
    checkWrite(condition, record);
    const path = bodyPath(store, bucket, key);
    await rm(recordPath(store, bucket, key));
    await discard(join(stagingFolder(store.root), record.id));
    await discard(path);
    await removeEmptyFolders(store, dirname(recordPath(store, bucket, key)), recordFolder(store, bucket));
    await removeEmptyFolders(store, dirname(path), join(store.root, bucket));
  });
}

/** Every key of a bucket that begins with `prefix`, in no order. */
export async function findKeys(store: Store, bucket: string, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  async function walk(folder: string, start: string): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      if (systemErrorCode(error) === "ENOENT") return [];
      throw error;
    });
    for (const entry of entries) {
      if (entry.isDirectory()) {
        const begun = start + decodeFolder(entry.name);
        if (begun.startsWith(prefix) || prefix.startsWith(begun)) await walk(join(folder, entry.name), begun);
      } else if (entry.name.endsWith(".json")) {
        const key = start + decodeFile(entry.name.slice(0, -".json".length));
        if (key.startsWith(prefix)) keys.push(key);
      }
    }
  }
  await walk(recordFolder(store, bucket), "");
  return keys;
}

async function sweepStaging(store: Store): Promise<void> {
  const leftovers = new Set(await readdir(stagingFolder(store.root)));
  if (leftovers.size === 0) return;
  // Buckets that are not served this time may have a body waiting too.
  for (const bucket of await readdir(join(store.root, ".metadata"))) {
    for (const key of await findKeys(store, bucket, "")) {
      const record = await findObject(store, bucket, key).catch(() => undefined);
      if (!record || !leftovers.delete(record.id)) continue;
      const staged = join(stagingFolder(store.root), record.id);
      await place(store, staged, bodyPath(store, bucket, key)).catch(() => undefined);
    }
  }
  for (const name of leftovers) await discard(join(stagingFolder(store.root), name));
}

function recordFolder(store: Store, bucket: string): string {
  return join(store.root, ".metadata", bucket);
}

function recordPath(store: Store, bucket: string, key: string): string {
  return `${join(recordFolder(store, bucket), encodeKey(key))}.json`;
}

function bodyPath(store: Store, bucket: string, key: string): string {
  return join(store.root, bucket, encodeKey(key));
}

async function readRecord(path: string): Promise<ObjectRecord | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw new Error(`cannot read ${path}`, { cause: error });
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  return open(path).catch((error: unknown) => {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  });
}
