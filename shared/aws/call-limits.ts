/** Time limits for calls to an AWS service. The SDK itself waits forever. Times in milliseconds. */
export interface CallLimits {
  /** Time until the service accepts the connection. */
  connectionMs: number;
  /** Time from the start of a request to the start of its answer, and the maximum silence within the answer. */
  answerMs: number;
  /** Maximum attempts of a call. An attempt that takes too long is repeated like a failed one. */
  tries: number;
}

/** `CallLimits` for large objects. */
export interface BucketLimits extends CallLimits {
  /** Like `answerMs`, for a request with a large body, and the maximum silence within a downloaded body. */
  bodyMs: number;
}

/** `CallLimits` for connections of peers. */
export interface SocketLimits extends CallLimits {
  /** Like `answerMs`, for a frame with a single attempt. */
  onceMs: number;
}

const connectionMs = 1000;

/** Limits of the calls to each service. */
export const tableLimits: CallLimits = { connectionMs, answerMs: 3000, tries: 5 };
export const bucketLimits: BucketLimits = { connectionMs, answerMs: 5000, bodyMs: 30_000, tries: 5 };
export const socketLimits: SocketLimits = { connectionMs, answerMs: 3000, onceMs: 1000, tries: 4 };
export const scheduleLimits: CallLimits = { connectionMs, answerMs: 5000, tries: 5 };
export const secretLimits: CallLimits = { connectionMs, answerMs: 5000, tries: 5 };
/** Of the calls that the command line makes about a stage's stack, tags and account. */
export const stageLimits: CallLimits = { connectionMs: 5000, answerMs: 20_000, tries: 5 };
export const wakeLimits: CallLimits = { connectionMs, answerMs: 3000, tries: 5 };

/** SDK client settings that enforce the limits: a call without an answer in any attempt rejects with a TimeoutError. */
export function clientSettings({ connectionMs, answerMs, tries }: CallLimits) {
  return {
    maxAttempts: tries,
    // Build a command's middleware only at its first call; it costs a tenth of a call's CPU time.
    cacheMiddleware: true,
    requestHandler: {
      connectionTimeout: connectionMs,
      requestTimeout: answerMs,
      // Without this the SDK writes a warning and keeps waiting.
      throwOnRequestTimeout: true,
      // The request timeout ends with the answer's head.
      socketTimeout: answerMs,
    },
  };
}
