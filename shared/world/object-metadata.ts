import { type Metadata, type MetadataName, metadataNames } from "./world.ts";

/**
 * S3 returns the names of user metadata in lower case and accepts only ASCII values. The gateway's own names
 * are in camel case (`originalFilename`) and values in any script. These two functions convert between them.
 */

const byLowerCase = new Map<string, MetadataName>(metadataNames.map((name) => [name.toLowerCase(), name]));

/** For an upload: lower-case names, values percent-encoded so that they are printable ASCII. */
export function encodeMetadata(metadata: Metadata): Record<string, string> {
  const encoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata)) {
    if (value !== undefined) encoded[name.toLowerCase()] = encodeURIComponent(value.toWellFormed());
  }
  return encoded;
}

/** From a download. Unknown names are dropped; a value that is not validly encoded is returned unchanged. */
export function decodeMetadata(stored: Record<string, string> | undefined): Metadata {
  const metadata: Metadata = {};
  for (const [lower, value] of Object.entries(stored ?? {})) {
    const name = byLowerCase.get(lower.toLowerCase());
    if (name) metadata[name] = decodeValue(value);
  }
  return metadata;
}

function decodeValue(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
