import type { ObjectRecord } from "./object-record.ts";
import { S3Error } from "./s3-error.ts";

/** The precondition of a write on the existing object at its key. */
export type WriteCondition = { ifMatch?: string; ifAbsent?: boolean };

/** The write condition in a request's headers. Throws NotImplemented for what S3 does not take: an If-None-Match other
 * than `*`, or both at once. */
export function writeCondition(headers: Map<string, string>): WriteCondition {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (
    (ifNoneMatch !== undefined && ifNoneMatch !== "*") ||
    (ifMatch !== undefined && ifNoneMatch !== undefined)
  ) {
    throw new S3Error(
      "NotImplemented",
      "A header you provided implies functionality that is not implemented",
    );
  }
  return { ifMatch, ifAbsent: ifNoneMatch === "*" };
}

/** Throws PreconditionFailed when a write may not happen over `current`; NoSuchKey for If-Match on a missing key. */
export function checkWrite({ ifMatch, ifAbsent }: WriteCondition, current: ObjectRecord | undefined): void {
  if (ifAbsent && current) throw preconditionFailed("If-None-Match");
  if (ifMatch === undefined) return;
  if (!current) throw noSuchKey();
  if (!matches(ifMatch, current.etag)) throw preconditionFailed("If-Match");
}

/** Whether a conditional read is answered with 304. Throws PreconditionFailed. */
export function isNotModified(headers: Map<string, string>, { etag }: ObjectRecord): boolean {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (ifMatch !== undefined && !matches(ifMatch, etag)) throw preconditionFailed("If-Match");
  return ifNoneMatch !== undefined && matches(ifNoneMatch, etag);
}

/** First and last byte of a `Range` header, inclusive; undefined for the whole object, also for a header that S3 passes over
 * (several ranges, another unit). Throws InvalidRange when no byte is in range. */
export function readRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | undefined {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (from === "" && to === "") return undefined;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  const start = from === "" ? Math.max(size - Number(to), 0) : Number(from);
  const end = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (start > end) throw new S3Error("InvalidRange", "The requested range is not satisfiable");
  return { start, end };
}

/** The error for a key that does not exist. */
export function noSuchKey(): S3Error {
  return new S3Error("NoSuchKey", "The specified key does not exist.");
}

function preconditionFailed(condition: string): S3Error {
  const message = "At least one of the pre-conditions you specified did not hold";
  return new S3Error("PreconditionFailed", `${message}: ${condition}`);
}

/** S3 takes ETags with and without their quotation marks. */
function matches(header: string, etag: string): boolean {
  const tags = header.split(",").map((tag) => tag.trim().replaceAll('"', ""));
  return tags.includes("*") || tags.includes(etag.replaceAll('"', ""));
}
