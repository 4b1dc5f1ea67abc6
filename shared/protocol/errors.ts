/** Error codes of the wire protocol, by name. */
export const code = {
  notConnected: 101,
  unsupportedVersion: 102,
  badClient: 103,
  badRequest: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  conflict: 409,
  tooLarge: 413,
  rateLimited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = (typeof code)[keyof typeof code];

/** The `error` field of a response frame. */
export interface ErrorShape {
  code: number;
  message: string;
  details?: unknown;
  /** True when the same request may succeed later, unchanged. */
  retryable?: boolean;
}

/**
 * The `details` of the 409 for a node whose id another process uses. `alive`: the other process has just answered
 * `node.ping`. Otherwise the gateway is asking it: repeat `connect` after `retryAfterMs`, on a new socket.
 */
export interface PlaceTaken {
  taken: true;
  alive: boolean;
  retryAfterMs: number;
}

/** The `details` of the 403 for a method that needs another scope than the caller's token has. */
export interface MissingScope {
  scope: string;
}

/**
 * An error whose code and message are sent to peers unchanged. Any other error is logged in full and sent as
 * 500 "internal error".
 */
export class PeerError extends Error {
  readonly code: number;
  readonly details: unknown;
  readonly retryable: boolean;

  constructor(
    errorCode: ErrorCode,
    message: string,
    options: { details?: unknown; retryable?: boolean } = {},
  ) {
    super(message);
    this.name = "PeerError";
    this.code = errorCode;
    this.details = options.details;
    this.retryable = options.retryable ?? false;
  }
}

/** The error field for a response: a PeerError's own fields, or 500 for any other error. */
export function errorShape(error: unknown): ErrorShape {
  if (!(error instanceof PeerError))
    return { code: code.internal, message: "internal error", retryable: true };
  const { message, details, retryable } = error;
  return {
    code: error.code,
    message,
    ...(details === undefined ? {} : { details }),
    ...(retryable ? { retryable } : {}),
  };
}
