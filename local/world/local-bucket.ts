import { decodeMetadata, encodeMetadata } from "../../shared/world/object-metadata.ts";
import {
  type Bucket,
  type ListedObject,
  type Metadata,
  type ObjectHead,
  PreconditionFailed,
  type PutOptions,
  type StoredObject,
} from "../../shared/world/world.ts";
import { bucketName } from "../cloud-names.ts";
import { type Attributes, readAttributes } from "../objects/attributes.ts";
import {
  commitObject,
  findKeys,
  findObject,
  openObject,
  removeObject,
  type Store,
} from "../objects/object-files.ts";
import type { ObjectRecord } from "../objects/object-record.ts";
import { S3Error } from "../objects/s3-error.ts";
import { stage } from "../objects/staging.ts";

/** Bytes of the longest key, as in S3. */
const maxKeyBytes = 1024;

/** The bucket on the object files that the local S3 serves, within S3's limits of keys and metadata. */
export function openLocalBucket(store: Store): Bucket {
  const read = async (key: string, etag?: string): Promise<StoredObject | "unchanged" | undefined> => {
    if (etag !== undefined && (await findObject(store, bucketName, key))?.etag === etag) return "unchanged";
    const found = await openObject(store, bucketName, key);
    if (!found) return undefined;
    try {
      return { ...headOf(found.record), body: await found.body.readFile() };
    } finally {
      await found.body.close();
    }
  };
  const write = async (key: string, body: AsyncIterable<Uint8Array>, options: PutOptions = {}) => {
    checkKey(key);
    const attributes = attributesOf(options.contentType, options.metadata);
    const staged = await stage(store, body, ["md5"]);
    const { ifMatch, ifAbsent } = options;
    const target = { bucket: bucketName, key, condition: { ifMatch, ifAbsent } };
    const etag = `"${staged.digests.get("md5")?.toString("hex")}"`;
    return (await unlessRefused(key, commitObject(store, target, staged, { etag, ...attributes }))).etag;
  };
  return {
    get: async (key) => (await read(key)) as StoredObject | undefined,
    getIfChanged: read,
    async head(key) {
      const record = await findObject(store, bucketName, key);
      return record && headOf(record);
    },
    async getStream(key) {
      const found = await openObject(store, bucketName, key);
      return found && { ...headOf(found.record), body: found.body.createReadStream() };
    },
    put: (key, body, options) => write(key, once(Buffer.from(body)), options),
    putStream: write,
    delete: (key, { ifMatch } = {}) => unlessRefused(key, removeObject(store, bucketName, key, { ifMatch })),
    list: (prefix, delimiter) => list(store, prefix, delimiter),
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function headOf({ headers, metadata, etag, lastModified }: ObjectRecord): ObjectHead {
  return {
    contentType: headers["content-type"],
    metadata: decodeMetadata(metadata),
    etag,
    lastModified: Date.parse(lastModified),
  };
}

/** @throws S3Error KeyTooLongError */
function checkKey(key: string): void {
  if (Buffer.byteLength(key) > maxKeyBytes) throw new S3Error("KeyTooLongError", "Your key is too long");
}

/** Attributes as the local S3 reads them from the headers of a write. @throws S3Error MetadataTooLarge */
function attributesOf(contentType: string | undefined, metadata: Metadata = {}): Attributes {
  const named = Object.entries(encodeMetadata(metadata)).map(
    ([name, value]) => [`x-amz-meta-${name}`, value] as const,
  );
  return readAttributes(
    new Map([...(contentType ? [["content-type", contentType] as const] : []), ...named]),
  );
}

/** @throws PreconditionFailed */
async function unlessRefused<T>(key: string, written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (error) {
    const lost = error instanceof S3Error && ["PreconditionFailed", "NoSuchKey"].includes(error.code);
    throw lost ? new PreconditionFailed(key) : error;
  }
}

/** Records of objects that a list reads at the same time. */
const recordsAtOnce = 32;

async function list(store: Store, prefix: string, delimiter: "/" | undefined) {
  const objects: ListedObject[] = [];
  const prefixes = new Set<string>();
  const keys = inByteOrder(await findKeys(store, bucketName, prefix)).filter((key) => {
    const end = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
    if (end >= 0) prefixes.add(key.slice(0, end + 1));
    return end < 0;
  });
  for (let start = 0; start < keys.length; start += recordsAtOnce) {
    const some = keys.slice(start, start + recordsAtOnce).map((key) => findObject(store, bucketName, key));
    for (const record of await Promise.all(some)) {
      if (!record) continue;
      const { key, size, etag, lastModified } = record;
      objects.push({ key, size, etag, lastModified: Date.parse(lastModified) });
    }
  }
  return { objects, prefixes: [...prefixes] };
}

/** S3 orders keys by their bytes in UTF-8, which is not how JavaScript compares strings. */
function inByteOrder(keys: readonly string[]): string[] {
  const sortable = keys.map((key) => ({ key, bytes: Buffer.from(key) }));
  return sortable.sort((a, b) => Buffer.compare(a.bytes, b.bytes)).map(({ key }) => key);
}
