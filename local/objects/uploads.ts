import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Attributes } from "./attributes.ts";
import type { Checksum } from "./checksums.ts";
import type { Store } from "./object-files.ts";
import { S3Error, systemErrorCode } from "./s3-error.ts";
import { discard, place, type Received, writeJson } from "./staging.ts";

/** A multipart upload: a folder under `.uploads` with `upload.json`, a `{number}.json` for each part, and the bodies of
 * the parts under the ids their records name. */
export type Upload = Attributes & {
  bucket: string;
  key: string;
  /** ISO 8601. */
  initiated: string;
  /** The algorithm of every part's checksum, as in `x-amz-checksum-{algorithm}`, where the upload was created with one. */
  checksumAlgorithm?: string;
};

/** A part that has arrived. `md5` is in hexadecimal, and in quotation marks it is the part's ETag. */
export type Part = {
  id: string;
  number: number;
  size: number;
  md5: string;
  checksum?: Checksum;
};

/** A part as the request to complete an upload names it. */
export type NamedPart = { number: number; etag: string; checksum?: string };

/** Parts but the last are at least this long, in bytes. */
const minimumPartBytes = 5 * 1024 ** 2;
/** Age at which an upload that was never completed is removed, in milliseconds: a week. */
const abandonedAfter = 7 * 24 * 3600 * 1000;

/** Creates the folder of uploads and removes uploads older than a week. */
export async function sweepUploads(root: string): Promise<void> {
  await mkdir(join(root, ".uploads"), { recursive: true });
  for (const uploadId of await readdir(join(root, ".uploads"))) {
    const folder = join(root, ".uploads", uploadId);
    const upload = await readJson<Upload>(join(folder, "upload.json")).catch(() => undefined);
    const age = Date.now() - Date.parse(upload?.initiated ?? "");
    if (!(age < abandonedAfter)) await rm(folder, { recursive: true, force: true });
  }
}

/** Begins an upload and returns its id. */
export async function createUpload(store: Store, upload: Upload): Promise<string> {
  const uploadId = randomUUID();
  await writeJson(store, join(uploadFolder(store.root, uploadId), "upload.json"), upload);
  return uploadId;
}

/** Runs work on an upload that nothing else changes meanwhile. Throws NoSuchUpload when there is none of this id for this
 * bucket and key. */
export async function withUpload<T>(
  store: Store,
  { uploadId, bucket, key }: { uploadId: string; bucket: string; key: string },
  work: (upload: Upload) => Promise<T>,
): Promise<T> {
  // No bucket has an empty name, so this is no object's lock.
  return store.lock(`/uploads/${uploadId}`, async () => {
    const isId = /^[0-9a-f-]{36}$/.test(uploadId);
    const upload = isId
      ? await readJson<Upload>(join(uploadFolder(store.root, uploadId), "upload.json"))
      : undefined;
    if (upload?.bucket === bucket && upload.key === key) return work(upload);
    throw new S3Error("NoSuchUpload", "The specified multipart upload does not exist.");
  });
}

/** Adds a part; replaces an earlier part of the same number. The staged body is consumed. */
export async function putPart(
  store: Store,
  uploadId: string,
  number: number,
  received: Received,
): Promise<void> {
  const { staged, md5, checksum } = received;
  const folder = uploadFolder(store.root, uploadId);
  const replaced = await readJson<Part>(join(folder, `${number}.json`));
  const part: Part = { id: staged.id, number, size: staged.size, md5: md5.toString("hex"), checksum };
  await place(store, staged.path, join(folder, staged.id));
  await writeJson(store, join(folder, `${number}.json`), part);
  if (replaced) await discard(join(folder, replaced.id));
}

/** The parts a request names, in its order. Throws InvalidPartOrder, InvalidPart (absent, or another ETag or checksum) and
 * EntityTooSmall. */
export async function findParts(
  { root }: Store,
  uploadId: string,
  named: readonly NamedPart[],
): Promise<Part[]> {
  const parts: Part[] = [];
  for (const { number, etag, checksum } of named) {
    if (number <= (parts.at(-1)?.number ?? 0)) {
      throw new S3Error("InvalidPartOrder", "The list of parts was not in ascending order.");
    }
    const part = await readJson<Part>(join(uploadFolder(root, uploadId), `${number}.json`));
    if (
      !part ||
      etag.replaceAll('"', "") !== part.md5 ||
      (checksum !== undefined && checksum !== part.checksum?.value)
    ) {
      throw new S3Error(
        "InvalidPart",
        `Part ${number} could not be found, or its ETag or checksum is another.`,
      );
    }
    parts.push(part);
  }
  if (parts.slice(0, -1).some(({ size }) => size < minimumPartBytes)) {
    throw new S3Error("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
  }
  return parts;
}

/** The bodies of parts one after another. */
export async function* readParts(
  { root }: Store,
  uploadId: string,
  parts: readonly Part[],
): AsyncGenerator<Buffer> {
  for (const { id } of parts) yield* createReadStream(join(uploadFolder(root, uploadId), id));
}

/** Ends an upload and removes its parts. */
export async function removeUpload({ root }: Store, uploadId: string): Promise<void> {
  await rm(uploadFolder(root, uploadId), { recursive: true, force: true });
}

function uploadFolder(root: string, uploadId: string): string {
  return join(root, ".uploads", uploadId);
}

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
