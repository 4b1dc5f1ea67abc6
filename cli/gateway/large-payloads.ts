import { setTimeout as delay } from "node:timers/promises";
import { code } from "../../shared/protocol/errors.ts";
import {
  type EventFrame,
  errorFrame,
  type Frame,
  maxPayloadBytes,
  type PayloadRef,
  parseFrame,
  type ResponseFrame,
} from "../../shared/protocol/frames.ts";
import type { Upload } from "../../shared/protocol/results.ts";
import { backoffDelay } from "./backoff.ts";
import { localCode, RequestError } from "./request-error.ts";

/** How often a transfer is tried when the storage cannot be reached or is out of order. */
const mostTries = 3;

/** When a transfer is given up: `timeoutMs` is for one try, `signal` for all of it. */
export interface TransferLimits {
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Puts params that are too large for a frame where the gateway takes them from, and returns the ref to them.
 * @param reserve asks the gateway for a place; answers as `payload.upload` does
 * @throws what `reserve` throws; RequestError 413 when the storage does not take them
 */
export async function uploadParams(
  params: unknown,
  reserve: (bytes: number) => Promise<Upload>,
  limits: TransferLimits,
): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(params));
  return uploadBytes({ what: "the request", contentType: "application/json", bytes }, reserve, limits);
}

/** As `uploadParams`, for any bytes; `what` they are is said when they cannot be uploaded. */
export async function uploadBytes(
  { what, contentType, bytes }: { what: string; contentType: string; bytes: Uint8Array },
  reserve: (bytes: number) => Promise<Upload>,
  limits: TransferLimits,
): Promise<string> {
  const { ref, url } = await reserve(bytes.byteLength);
  try {
    const headers = { "content-type": contentType };
    await transfer(url, { method: "PUT", body: new Uint8Array(bytes), headers }, limits);
    return ref;
  } catch (error) {
    const message = `${what} is ${bytes.byteLength} bytes and cannot be uploaded: ${(error as Error).message}`;
    throw new RequestError(localCode.tooLarge, message);
  }
}

export interface FrameResolverOptions extends TransferLimits {
  /** A frame that is whole. */
  onFrame(frame: Frame): void;
  /** The answer to request `id` has come, and is being fetched. */
  onAnswerComing(id: string): void;
  /** An event has come that cannot be fetched. */
  onEventLost(reason: string): void;
}

/**
 * Hands frames on, those by reference once they have been fetched. Events keep their order: while one is being fetched
 * the next ones wait. Responses wait for nothing; one that cannot be fetched becomes a refusal, 503.
 */
export class FrameResolver {
  readonly #options: FrameResolverOptions;
  /** Settled when all events so far have been handed on; undefined when none is being fetched. */
  #events: Promise<void> | undefined;

  constructor(options: FrameResolverOptions) {
    this.#options = options;
  }

  take(frame: Frame): void {
    const { onFrame, onAnswerComing } = this.#options;
    if (frame.type === "evt" && (frame.payloadRef || this.#events)) this.#queue(frame);
    else if (frame.type === "res" && frame.payloadRef) {
      onAnswerComing(frame.id);
      void this.#whole(frame, frame.payloadRef).then((hand) => hand());
    } else onFrame(frame);
  }

  #queue(frame: EventFrame): void {
    const whole = frame.payloadRef
      ? this.#whole(frame, frame.payloadRef)
      : () => this.#options.onFrame(frame);
    const handed: Promise<void> = (this.#events ?? Promise.resolve())
      .then(() => whole)
      .then((hand) => {
        if (this.#events === handed) this.#events = undefined;
        hand();
      });
    this.#events = handed;
  }

  /** Fetches, and returns what is to be done then. Never rejects. */
  async #whole(head: ResponseFrame | EventFrame, ref: PayloadRef): Promise<() => void> {
    const { onFrame, onEventLost } = this.#options;
    try {
      const frame = await fetchFrame(head, ref, this.#options);
      return () => onFrame(frame);
    } catch (error) {
      const message = `${ref.bytes} bytes that the gateway has stored cannot be fetched: ${(error as Error).message}`;
      if (head.type === "evt") return () => onEventLost(message);
      return () => onFrame(errorFrame(head.id, { code: code.unavailable, message }));
    }
  }
}

/** The whole frame that `head` refers to. Rejects with an Error that says why it cannot be had. */
async function fetchFrame(
  head: ResponseFrame | EventFrame,
  { url, bytes }: PayloadRef,
  limits: TransferLimits,
): Promise<Frame> {
  if (!(bytes <= maxPayloadBytes)) throw new Error(`more than ${maxPayloadBytes} bytes are not read`);
  const text = (await transfer(url, { method: "GET" }, limits)).toString();
  const frame = parseFrame(text);
  if (frame === undefined || "malformed" in frame || nameOf(frame) !== nameOf(head))
    throw new Error("something else was there");
  return frame;
}

function nameOf(frame: Frame): string {
  return `${frame.type} ${frame.type === "evt" ? frame.event : frame.id}`;
}

/** One request to the storage, tried again when it may help. No error ever holds the url: it opens the payload. */
async function transfer(url: string, request: RequestInit, limits: TransferLimits): Promise<Buffer> {
  for (let tries = 1; ; tries++) {
    const outcome = await tryTransfer(url, request, limits);
    if (Buffer.isBuffer(outcome)) return outcome;
    if (!outcome.again || tries === mostTries) throw new Error(outcome.reason);
    await delay(backoffDelay(tries, 250, 2000), undefined, { signal: limits.signal });
  }
}

async function tryTransfer(
  url: string,
  request: RequestInit,
  { timeoutMs, signal }: TransferLimits,
): Promise<Buffer | { reason: string; again: boolean }> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      ...request,
      redirect: "error",
      signal: AbortSignal.any([timeout, signal]),
    });
    const body = Buffer.from(await response.arrayBuffer());
    if (response.ok) return body;
    return { reason: `the storage answered HTTP ${response.status}`, again: response.status >= 500 };
  } catch (error) {
    if (timeout.aborted) return { reason: `it took longer than ${timeoutMs} ms`, again: false };
    if (signal.aborted) return { reason: "the connection ended", again: false };
    const { cause } = error as { cause?: NodeJS.ErrnoException };
    return { reason: `the storage cannot be reached${cause?.code ? ` (${cause.code})` : ""}`, again: true };
  }
}
