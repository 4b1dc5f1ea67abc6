/** HTTP status of each error code, after the S3 API reference, "Error responses". */
const statuses = {
  AccessDenied: 403,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidArgument: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  XAmzContentSHA256Mismatch: 400,
} as const;

export type S3ErrorCode = keyof typeof statuses;

/** An error that is answered to the caller as S3 would: its code, message and status, in S3's XML. */
export class S3Error extends Error {
  readonly code: S3ErrorCode;
  readonly status: number;

  constructor(code: S3ErrorCode, message: string) {
    super(message);
    this.name = code;
    this.code = code;
    this.status = statuses[code];
  }
}

/** Anything thrown as an S3Error. What is not one already becomes InternalError and keeps its message,
 * because its reader owns the disk that failed. */
export function toS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  return new S3Error("InternalError", error instanceof Error ? error.message : String(error));
}

/** The code of a failed system call (`ENOENT`, `ENOSPC`, …), or undefined for any other value. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
