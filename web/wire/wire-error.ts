/** A request that failed. `code` as in docs/reference/protocol.md; 101: not connected, 408: no answer in time. */
export class WireError extends Error {
  readonly code: number;
  /** The same request may succeed later. */
  readonly retryable: boolean;

  constructor(code: number, message: string, retryable = false) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

/** The error of a request that found no connection, or lost it before the answer. */
export function notConnected(): WireError {
  return new WireError(101, "there is no connection to the gateway", true);
}
