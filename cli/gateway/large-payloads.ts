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

/** Attempts of one transfer when the storage cannot be reached or answers with a 5xx status. */
const maxTries = 3;

/** Limits of a transfer: `timeoutMs` bounds one attempt, `signal` aborts all of them. */
export interface TransferLimits {
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Uploads params that are too large for a frame to the gateway's storage, and returns their ref.
 * @param reserve requests `payload.upload` for a number of bytes
 * @throws the errors of `reserve`; RequestError 413 when the upload fails
 */
export async function uploadParams(
  params: unknown,
  reserve: (bytes: number) => Promise<Upload>,
  limits: TransferLimits,
): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(params));
  return uploadBytes({ what: "the request", contentType: "application/json", bytes }, reserve, limits);
}

/** Like `uploadParams`, for any bytes. `what` names the bytes in the error message. */
export async function uploadBytes(
  { what, contentType, bytes }: { what: string; contentType: string; bytes: Uint8Array },
  reserve: (bytes: number) => Promise<Upload>,
  limits: TransferLimits,
): Promise<string> {
  const { ref, url } = await reserve(bytes.byteLength);
  try {
    const headers = { "content-type": contentType };
    await callStorage(url, { method: "PUT", body: new Uint8Array(bytes), headers }, limits);
    return ref;
  } catch (error) {
    const message = `${what} is ${bytes.byteLength} bytes and cannot be uploaded: ${(error as Error).message}`;
    throw new RequestError(localCode.tooLarge, message);
  }
}

interface FrameResolverOptions extends TransferLimits {
  /** Called with each complete frame. */
  onFrame(frame: Frame): void;
  /** The response to request `id` has arrived by reference and is being fetched. */
  onAnswerComing(id: string): void;
  /** The payload of an event could not be fetched. */
  onEventLost(reason: string): void;
}

/**
 * Forwards frames to `onFrame`; frames by reference are fetched first. Events keep their order: later events
 * wait while one is fetched. Responses do not wait; a response that cannot be fetched becomes an error
 * response, code 503.
 */
export class FrameResolver {
  readonly #options: FrameResolverOptions;
  /** Resolves when all events so far are forwarded. Undefined when none is being fetched. */
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

  /** Fetches the whole frame and returns the callback that forwards it or reports its loss. Never rejects. */
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

/** Fetches the whole frame that `head` refers to. Rejects with an Error that states the reason. */
async function fetchFrame(
  head: ResponseFrame | EventFrame,
  { url, bytes }: PayloadRef,
  limits: TransferLimits,
): Promise<Frame> {
  if (!(bytes <= maxPayloadBytes)) throw new Error(`it has more than ${maxPayloadBytes} bytes`);
  const text = (await callStorage(url, { method: "GET" }, limits)).toString();
  const frame = parseFrame(text);
  if (frame === undefined || "malformed" in frame || nameOf(frame) !== nameOf(head))
    throw new Error("the stored payload belongs to another frame");
  return frame;
}

function nameOf(frame: Frame): string {
  return `${frame.type} ${frame.type === "evt" ? frame.event : frame.id}`;
}

/**
 * Sends one request to the storage, with retries. No error contains the presigned url, because it grants
 * access.
 * @param into memory for the answer's body, which must fit; without it, new memory is allocated
 * @returns the body; with `into`, the part of it that was filled
 */
export async function callStorage(
  url: string,
  request: RequestInit,
  limits: TransferLimits,
  into?: Buffer,
): Promise<Buffer> {
  for (let tries = 1; ; tries++) {
    const outcome = await tryTransfer(url, request, limits, into);
    if (Buffer.isBuffer(outcome)) return outcome;
    if (!outcome.again || tries === maxTries) throw new Error(outcome.reason);
    await delay(backoffDelay(tries, 250, 2000), undefined, { signal: limits.signal });
  }
}

async function tryTransfer(
  url: string,
  request: RequestInit,
  { timeoutMs, signal }: TransferLimits,
  into?: Buffer,
): Promise<Buffer | { reason: string; again: boolean }> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      ...request,
      redirect: "error",
      signal: AbortSignal.any([timeout, signal]),
    });
    if (response.ok && into)
      return (
        (await fill(into, response)) ?? { reason: `it has more than ${into.byteLength} bytes`, again: false }
      );
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

/** Reads a body into existing memory. @returns the filled part; undefined when the body is longer */
async function fill(into: Buffer, { body }: Response): Promise<Buffer | undefined> {
  let filled = 0;
  for await (const chunk of body ?? []) {
    if (filled + chunk.byteLength > into.byteLength) return undefined;
    into.set(chunk, filled);
    filled += chunk.byteLength;
  }
  return into.subarray(0, filled);
}
