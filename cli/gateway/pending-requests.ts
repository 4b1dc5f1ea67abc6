import { RequestsInFlight } from "../../shared/peers/requests-in-flight.ts";
import { code } from "../../shared/protocol/errors.ts";
import type { ResponseFrame } from "../../shared/protocol/frames.ts";
import { localCode, RequestError } from "./request-error.ts";

interface PendingRequest {
  timer: NodeJS.Timeout;
  resolve(payload: unknown): void;
  reject(error: RequestError): void;
}

/** Requests without a response yet, by id. */
export class PendingRequests {
  readonly #requests = new Map<string, PendingRequest>();
  readonly #inFlight = new RequestsInFlight();

  /**
   * Sends request `id`, again whenever API Gateway has not executed it, and waits for the response. Rejects with a
   * RequestError: error response, 408 after `timeoutMs`, `rejectAll`, or what `send` throws.
   */
  answerTo(
    id: string,
    method: string,
    timeoutMs: number,
    { send, onTimeout }: { send: () => void; onTimeout: () => void },
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#inFlight.add(id, send);
      const timer = setTimeout(() => {
        this.#requests.delete(id);
        this.#inFlight.abandon(id);
        const message = `${method}: no answer from the gateway in ${timeoutMs} ms`;
        reject(new RequestError(localCode.timeout, message, { retryable: true }));
        onTimeout();
      }, timeoutMs);
      this.#requests.set(id, { timer, resolve, reject });
    });
  }

  /** Removes the timeout of request `id`, because its response has arrived and is being fetched. */
  keep(id: string): void {
    clearTimeout(this.#requests.get(id)?.timer);
    this.#inFlight.answered(id);
  }

  notExecuted(): void {
    this.#inFlight.notExecuted();
  }

  /**
   * Settles the request of a response. Returns the error of an error response. Late and unknown responses are
   * ignored.
   */
  settle(frame: ResponseFrame): RequestError | undefined {
    const request = this.#requests.get(frame.id);
    if (request === undefined) return undefined;
    this.#requests.delete(frame.id);
    this.#inFlight.answered(frame.id);
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
    this.#inFlight.clear();
  }
}

/** The error of an error response. Without `retryable`, rate limits and codes from 500 count as retryable. */
function refusalOf(frame: ResponseFrame): RequestError {
  const shape = frame.error ?? { code: code.internal, message: "the gateway gave no reason" };
  const retryable = shape.retryable ?? (shape.code === code.rateLimited || shape.code >= 500);
  return new RequestError(shape.code, shape.message, { retryable, details: shape.details });
}
