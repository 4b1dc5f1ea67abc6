/**
 * Codes of failures that happen on this side of the wire, next to the gateway's own (shared/protocol/errors.ts).
 * `timeout`: no answer in time; the request may or may not have been carried out.
 */
export const localCode = { notConnected: 101, timeout: 408, tooLarge: 413 } as const;

/** Why a request, or the connection as a whole, failed. `code` is the gateway's, or one of `localCode`. */
export class RequestError extends Error {
  readonly code: number;
  /** True when the same request may succeed later, unchanged. */
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
