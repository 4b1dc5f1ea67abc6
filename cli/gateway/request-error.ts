/**
 * Error codes that the client produces, in addition to those of the gateway (shared/protocol/errors.ts).
 * `timeout`: no response in time. The gateway may or may not have carried out the request.
 */
export const localCode = { notConnected: 101, timeout: 408, tooLarge: 413 } as const;

/**
 * The failure of a request or of the whole connection. `code` is the gateway's error code or one of
 * `localCode`.
 */
export class RequestError extends Error {
  readonly code: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly details: unknown;

  constructor(errorCode: number, message: string, options: { retryable?: boolean; details?: unknown } = {}) {
    super(message);
    this.name = "RequestError";
    this.code = errorCode;
    this.retryable = options.retryable ?? false;
    this.details = options.details;
  }
}
