import { code } from "../../shared/protocol/errors.ts";
import type { ResponseFrame } from "../../shared/protocol/frames.ts";
import { localCode, RequestError } from "./request-error.ts";

interface PendingRequest {
  timer: NodeJS.Timeout;
  resolve(payload: unknown): void;
  reject(error: RequestError): void;
}

/** The requests that were sent and not yet answered, by id. */
export class PendingRequests {
  readonly #requests = new Map<string, PendingRequest>();

  /** The answer to request `id`. Rejects with a RequestError: a refusal, 408 after `timeoutMs`, or what `rejectAll` says. */
  answerTo(id: string, method: string, timeoutMs: number, onTimeout: () => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#requests.delete(id);
        const message = `${method}: no answer from the gateway in ${timeoutMs} ms`;
        reject(new RequestError(localCode.timeout, message, { retryable: true }));
        onTimeout();
      }, timeoutMs);
      this.#requests.set(id, { timer, resolve, reject });
    });
  }

  /** Waits on for the answer to request `id`, however long it takes: it has come, and is being fetched. */
  keep(id: string): void {
    clearTimeout(this.#requests.get(id)?.timer);
  }

  /** Settles the request that `frame` answers. Returns the refusal when it is one; late and unknown answers are ignored. */
  settle(frame: ResponseFrame): RequestError | undefined {
    const request = this.#requests.get(frame.id);
    if (request === undefined) return undefined;
    this.#requests.delete(frame.id);
    clearTimeout(request.timer);
    if (frame.ok) {
      request.resolve(frame.payload);
      return undefined;
    }
    const error = refusalOf(frame);
    request.reject(error);
    return error;
  }

  rejectAll(error: RequestError): void {
    for (const request of this.#requests.values()) {
      clearTimeout(request.timer);
      request.reject(error);
    }
    this.#requests.clear();
  }
}

/** A peer that does not say `retryable` is taken at its code: rate limits and faults of the gateway pass. */
function refusalOf(frame: ResponseFrame): RequestError {
  const shape = frame.error ?? { code: code.internal, message: "the gateway gave no reason" };
  const retryable = shape.retryable ?? (shape.code === code.rateLimited || shape.code >= 500);
  return new RequestError(shape.code, shape.message, { retryable, details: shape.details });
}
