import { setTimeout as delay } from "node:timers/promises";
import { code } from "../../../shared/protocol/errors.ts";
import type { Method, ParamsInput } from "../../../shared/protocol/methods.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { backoffDelay } from "../../gateway/backoff.ts";
import { callStorage } from "../../gateway/large-payloads.ts";
import { RequestError } from "../../gateway/request-error.ts";

/** The gateway connection of a transfer. */
export interface TransferGateway {
  request<M extends Method>(method: M, params: ParamsInput<M>): Promise<Results[M]>;
}

/** Sends one request to the storage. @throws Error when its retries failed */
export type CallStorage = typeof callStorage;

type ReportMethod = "transfer.meta" | "transfer.accept" | "transfer.complete" | "transfer.done";

/** Max delay before a request is repeated, in milliseconds. */
const maxWaitMs = 10_000;

/** Timeout of one attempt to store or fetch a part, in milliseconds. */
const partTimeoutMs = 300_000;

/** The gateway has ended the transfer, or does not know it. */
export class TransferEnded extends Error {}

/** This process is stopping. The transfer continues after a restart. */
export class TransferPaused extends Error {}

/**
 * Requests of one transfer to the gateway and to the storage. They are repeated without limit: the gateway decides when
 * a stalled transfer ends.
 */
export class PartLink {
  readonly #gateway: TransferGateway;
  readonly #storage: CallStorage;
  readonly #transferId: number;
  readonly #signal: AbortSignal;
  readonly #maxWaitMs: number;

  constructor(
    transferId: number,
    signal: AbortSignal,
    outside: { gateway: TransferGateway; storage?: CallStorage; maxWaitMs?: number },
  ) {
    this.#transferId = transferId;
    this.#signal = signal;
    this.#gateway = outside.gateway;
    this.#storage = outside.storage ?? callStorage;
    this.#maxWaitMs = outside.maxWaitMs ?? maxWaitMs;
  }

  /** Reports the result of a step to the gateway. */
  async report<M extends ReportMethod>(method: M, result: Omit<ParamsInput<M>, "transferId">): Promise<void> {
    const params = { transferId: this.#transferId, ...result } as ParamsInput<M>;
    await this.#repeated(() => this.#gateway.request(method, params));
  }

  /** Stores a part. */
  async store(part: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#movePart(part, (url, headers, limits) =>
      this.#storage(url, { method: "PUT", headers, body: bytes }, limits),
    );
  }

  /** Fetches a part into a buffer of the part's size. */
  async fetch(part: number, into: Buffer): Promise<void> {
    await this.#movePart(part, async (url, headers, limits) => {
      const { byteLength } = await this.#storage(url, { method: "GET", headers }, limits, into);
      if (byteLength !== into.byteLength)
        throw new Error(`part ${part} has ${byteLength} bytes, not ${into.byteLength}`);
    });
  }

  /** Requests a new URL for each attempt, because the last one may have expired. */
  #movePart<T>(
    part: number,
    move: (url: string, headers: Record<string, string>, limits: Parameters<CallStorage>[2]) => Promise<T>,
  ): Promise<T> {
    const limits = { timeoutMs: partTimeoutMs, signal: this.#signal };
    return this.#repeated(async () => {
      const { url, headers } = await this.#gateway.request("transfer.part", {
        transferId: this.#transferId,
        part,
      });
      return move(url, headers, limits);
    });
  }

  async #repeated<T>(attempt: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      this.#signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        this.#signal.throwIfAborted();
        if (error instanceof RequestError && isFinal(error)) throw new TransferEnded(error.message);
      }
      const wait = delay(backoffDelay(failures, 250, this.#maxWaitMs), undefined, { signal: this.#signal });
      // Throw the reason of the abort: a pause keeps the partial file.
      await wait.catch(() => this.#signal.throwIfAborted());
    }
  }
}

/** Whether the gateway refused a request permanently. A lost connection is not final. */
function isFinal(error: RequestError): boolean {
  return [code.badRequest, code.forbidden, code.notFound, code.conflict].some((one) => one === error.code);
}
