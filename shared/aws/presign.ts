import { lazily } from "./lazily.ts";

/**
 * URLs by which somebody without credentials reads or writes one object for a while, with this function's rights. They
 * end earlier when the credentials of the function do.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export interface Presigner {
  /** @param seconds how long the URL works, at most a week */
  get(key: string, seconds: number): Promise<string>;
  /** As `get`, for an upload of exactly this many bytes. */
  put(key: string, seconds: number, bytes: number): Promise<string>;
}

/** The S3 client is loaded when the first URL is asked for. */
export function openPresigner(bucketName: string): Presigner {
  return lazily<Presigner>({ get: true, put: true }, async () =>
    (await import("./s3-presigner.ts")).openS3Presigner(bucketName),
  );
}
