import { S3Error } from "./s3-error.ts";

/** Metadata of an object that a write sets. */
export type Attributes = {
  /** System metadata by header name: content-type and the like. */
  headers: Record<string, string>;
  /** User metadata by its name without `x-amz-meta-`, in lower case. */
  metadata: Record<string, string>;
};

/** System metadata that is stored and sent back. */
const systemHeaders = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-type",
  "expires",
] as const;

const metadataPrefix = "x-amz-meta-";
/** Most user metadata of one object: bytes of all names and values together. */
const maximumMetadataBytes = 2048;

/** The attributes in the headers of a write. Throws MetadataTooLarge, and InvalidArgument for metadata beyond ASCII, which S3
 * would not give back as it was. */
export function readAttributes(requestHeaders: Map<string, string>): Attributes {
  const headers: Record<string, string> = { "content-type": "binary/octet-stream" };
  const metadata: Record<string, string> = {};
  for (const name of systemHeaders) {
    const value = requestHeaders.get(name);
    const kept = name === "content-encoding" ? withoutAwsChunked(value) : value;
    if (kept) headers[name] = kept;
  }
  let bytes = 0;
  for (const [name, value] of requestHeaders) {
    if (!name.startsWith(metadataPrefix)) continue;
    const short = name.slice(metadataPrefix.length);
    if (!/^[\x20-\x7e]*$/.test(value)) {
      throw new S3Error("InvalidArgument", `The value of ${name} holds characters outside US-ASCII`);
    }
    metadata[short] = value;
    bytes += short.length + value.length;
  }
  if (bytes > maximumMetadataBytes) {
    throw new S3Error("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size");
  }
  return { headers, metadata };
}

/** Stored attributes as the headers of an answer. */
export function attributeHeaders({ headers, metadata }: Attributes): Record<string, string> {
  const named = Object.entries(metadata).map(([name, value]) => [metadataPrefix + name, value]);
  return { ...headers, ...Object.fromEntries(named) };
}

/** `aws-chunked` describes the transfer only, so S3 does not store it. */
function withoutAwsChunked(value: string | undefined): string | undefined {
  const codings = value?.split(",").map((coding) => coding.trim());
  return codings?.filter((coding) => coding !== "aws-chunked").join(",");
}
