import type { Attributes } from "./attributes.ts";
import type { Checksum } from "./checksums.ts";

/** The stored data of an object except its body. */
export type ObjectRecord = Attributes & {
  key: string;
  /** Names the body file while it is in the staging folder. */
  id: string;
  /** In bytes. */
  size: number;
  /** With its quotation marks, as in the ETag header. */
  etag: string;
  /** ISO 8601, whole seconds. */
  lastModified: string;
  checksum?: Checksum;
};

/** The record of an object to be written, without the fields that the write sets. */
export type NewObject = Omit<ObjectRecord, "key" | "id" | "size" | "lastModified">;
