import type { Readable } from "node:stream";
import type { Checksum } from "../../../../local/objects/checksums.ts";
import type { Store } from "../../../../local/objects/object-files.ts";
import type { S3Request } from "./s3-request.ts";

/** What an operation has to work with. */
export type Call = {
  request: S3Request;
  store: Store;
  /** Rejects with AccessDenied when the caller may not do `action` (`s3:GetObject`) on `resource` (an ARN). `context` holds
   * the condition keys of the request. */
  authorize(action: string, resource: string, context?: Record<string, string>): Promise<void>;
};

/** What an operation answers. Status 200 and no body unless said otherwise. */
export type Answer = { status?: number; headers?: Record<string, string>; body?: string | Readable };

export type Operation = (call: Call) => Promise<Answer>;

export function bucketArn(bucket: string): string {
  return `arn:aws:s3:::${bucket}`;
}

export function objectArn(bucket: string, key: string): string {
  return `arn:aws:s3:::${bucket}/${key}`;
}

/** An answer whose body is an XML document. */
export function xmlAnswer(document: string): Answer {
  return { headers: { "content-type": "application/xml" }, body: document };
}

/** The headers that say an object's checksum. */
export function checksumHeaders(checksum: Checksum | undefined): Record<string, string> {
  if (!checksum) return {};
  return { [`x-amz-checksum-${checksum.algorithm}`]: checksum.value, "x-amz-checksum-type": "FULL_OBJECT" };
}
