/** How long a service of AWS is waited for. The SDK itself waits for ever. Times in milliseconds. */
export interface CallLimits {
  /** Until the service accepts the connection. */
  connectionMs: number;
  /** From the beginning of a request to that of its answer, and the longest silence within the answer. */
  answerMs: number;
  /** Tries of one call. A try that takes too long is repeated like one that failed. */
  tries: number;
}

/** As `CallLimits`, for objects that are large. */
export interface BucketLimits extends CallLimits {
  /** As `answerMs`, for a request that sends a large body, and the longest silence within a body that is read. */
  bodyMs: number;
}

/** As `CallLimits`, for connections of peers. */
export interface SocketLimits extends CallLimits {
  /** As `answerMs`, for a frame that is tried once. */
  onceMs: number;
}

const connectionMs = 1000;

/** Limits of the calls to each service. */
export const tableLimits: CallLimits = { connectionMs, answerMs: 3000, tries: 5 };
export const bucketLimits: BucketLimits = { connectionMs, answerMs: 5000, bodyMs: 30_000, tries: 5 };
export const socketLimits: SocketLimits = { connectionMs, answerMs: 3000, onceMs: 1000, tries: 4 };
export const scheduleLimits: CallLimits = { connectionMs, answerMs: 5000, tries: 5 };
export const secretLimits: CallLimits = { connectionMs, answerMs: 5000, tries: 5 };
export const wakeLimits: CallLimits = { connectionMs, answerMs: 3000, tries: 5 };

/** The settings of an SDK client that keeps to the limits: a call that no try of answers rejects with a TimeoutError. */
export function clientSettings({ connectionMs, answerMs, tries }: CallLimits) {
  return {
    maxAttempts: tries,
    // A command's middleware is put together at its first call only: a tenth of the processor time of a call.
    cacheMiddleware: true,
    requestHandler: {
      connectionTimeout: connectionMs,
      requestTimeout: answerMs,
      // Without this the SDK writes a warning and goes on waiting.
      throwOnRequestTimeout: true,
      // The request timeout ends with the answer's head.
      socketTimeout: answerMs,
    },
  };
}
