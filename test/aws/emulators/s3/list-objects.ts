import { findKeys, findObject, type Store } from "../../../../local/objects/object-files.ts";
import type { ObjectRecord } from "../../../../local/objects/object-record.ts";
import { S3Error } from "../../../../local/objects/s3-error.ts";
import { type Answer, bucketArn, type Call, xmlAnswer } from "./s3-call.ts";
import { element, textElement, xmlDocument } from "./xml.ts";

/** Most keys and common prefixes on one page. */
const maximumPage = 1000;

/** Position before a page: a key, or a common prefix with all its keys. */
type Position = { after: string; isPrefix: boolean };

/** One page: its entries in order, and the position of the next page if there is one. */
type Page = { entries: Position[]; next?: Position };

export async function listObjectsV2({ request, store, authorize }: Call): Promise<Answer> {
  const { bucket, query } = request;
  await authorize("s3:ListBucket", bucketArn(bucket), conditionKeys(query));
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const encode = readEncoding(query.get("encoding-type"));
  const requested = readMaximum(query.get("max-keys"));
  const token = query.get("continuation-token") ?? undefined;
  const startAfter = query.get("start-after") ?? "";
  const position = token === undefined ? { after: startAfter, isPrefix: false } : readToken(token);

  const keys = inOrder(await findKeys(store, bucket, prefix));
  const page = selectPage(keys, { prefix, delimiter, position, limit: Math.min(requested, maximumPage) });
  const contents = await readContents(store, bucket, page);
  const prefixes = page.entries.filter(({ isPrefix }) => isPrefix).map(({ after }) => after);
  const document = xmlDocument(
    "ListBucketResult",
    textElement("Name", bucket),
    textElement("Prefix", encode(prefix)),
    textElement("Delimiter", delimiter === "" ? undefined : encode(delimiter)),
    textElement("EncodingType", query.get("encoding-type") ?? undefined),
    textElement("MaxKeys", Math.min(requested, maximumPage)),
    textElement("KeyCount", contents.length + prefixes.length),
    textElement("IsTruncated", page.next !== undefined),
    textElement("ContinuationToken", token),
    textElement("NextContinuationToken", page.next && writeToken(page.next)),
    textElement("StartAfter", startAfter === "" ? undefined : encode(startAfter)),
    ...contents.map((record) => contentsElement(record, encode)),
    ...prefixes.map((common) => element("CommonPrefixes", textElement("Prefix", encode(common)))),
  );
  return xmlAnswer(document);
}

/** Cuts one page out of keys that are in order. Keys that go on after the prefix with a delimiter in what follows are
 * rolled up to one common prefix. */
function selectPage(
  keys: readonly string[],
  options: { prefix: string; delimiter: string; position: Position; limit: number },
): Page {
  const { prefix, delimiter, position, limit } = options;
  const entries: Position[] = [];
  const start = Buffer.from(position.after);
  for (const key of keys) {
    if (Buffer.compare(Buffer.from(key), start) <= 0 || (position.isPrefix && key.startsWith(position.after)))
      continue;
    const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    const entry = { after: end < 0 ? key : key.slice(0, end + delimiter.length), isPrefix: end >= 0 };
    const last = entries.at(-1);
    if (last?.isPrefix && entry.isPrefix && last.after === entry.after) continue;
    if (entries.length >= limit) return { entries, next: last };
    entries.push(entry);
  }
  return { entries };
}

/** S3 orders keys by their bytes in UTF-8, which is not how JavaScript compares strings. */
function inOrder(keys: readonly string[]): string[] {
  const sortable = keys.map((key) => ({ key, bytes: Buffer.from(key) }));
  return sortable.sort((a, b) => Buffer.compare(a.bytes, b.bytes)).map(({ key }) => key);
}

async function readContents(store: Store, bucket: string, { entries }: Page): Promise<ObjectRecord[]> {
  const records: ObjectRecord[] = [];
  for (const { after, isPrefix } of entries) {
    const record = isPrefix ? undefined : await findObject(store, bucket, after);
    if (record) records.push(record);
  }
  return records;
}

function contentsElement(record: ObjectRecord, encode: (key: string) => string): string {
  const { key, lastModified, etag, size, checksum } = record;
  return element(
    "Contents",
    textElement("Key", encode(key)),
    textElement("LastModified", lastModified),
    textElement("ETag", etag),
    textElement("ChecksumAlgorithm", checksum?.algorithm.toUpperCase()),
    textElement("ChecksumType", checksum && "FULL_OBJECT"),
    textElement("Size", size),
    textElement("StorageClass", "STANDARD"),
  );
}

function conditionKeys(query: URLSearchParams): Record<string, string> {
  const names = ["prefix", "delimiter", "max-keys"].filter((name) => query.has(name));
  return Object.fromEntries(names.map((name) => [`s3:${name}`, query.get(name) ?? ""]));
}

function readMaximum(text: string | null): number {
  if (text === null) return maximumPage;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new S3Error("InvalidArgument", "Provided max-keys not an integer or within integer range");
}

function readEncoding(type: string | null): (text: string) => string {
  if (type === null) return (text) => text;
  if (type === "url") return urlEncode;
  throw new S3Error("InvalidArgument", "Invalid Encoding Method specified in Request");
}

/** As in HTML forms, but slashes stay: `a b/c(1)` is `a+b/c%281%29`. */
function urlEncode(text: string): string {
  const encoded = encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%20", "+");
  return encoded.replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function writeToken(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

function readToken(token: string): Position {
  try {
    const { after, isPrefix } = JSON.parse(Buffer.from(token, "base64url").toString());
    if (typeof after === "string" && typeof isPrefix === "boolean") return { after, isPrefix };
  } catch {
    // Answered below, like a token that is JSON of another shape.
  }
  throw new S3Error("InvalidArgument", "The continuation token provided is incorrect");
}
