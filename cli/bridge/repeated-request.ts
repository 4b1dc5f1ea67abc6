import { setTimeout as sleep } from "node:timers/promises";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";
import { backoffDelay } from "../gateway/backoff.ts";
import type { Connection } from "../gateway/connection.ts";
import { RequestError } from "../gateway/request-error.ts";

/** Shortest and longest wait before a request is repeated, in ms. */
const [minWaitMs, maxWaitMs] = [500, 10_000];

/**
 * Repeats a request until the gateway answers it, across lost connections. The gateway recognizes a repeat by its id.
 * @returns the answer, or the refusal that no repeat will change
 * @throws the signal's reason after an abort
 */
export async function repeatRequest<M extends Method>(
  connection: Pick<Connection, "request">,
  method: M,
  params: ParamsInput<M>,
  signal: AbortSignal,
): Promise<Results[M] | RequestError> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    try {
      return await connection.request(method, params);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (!error.retryable) return error;
    }
    await sleep(minWaitMs + backoffDelay(failures, minWaitMs, maxWaitMs), undefined, { signal });
  }
}
