import { WebSocket } from "ws";
import { type Frame, isNotExecuted, maxFrameBytes, parseFrame } from "../../shared/protocol/frames.ts";
import { localCode, RequestError } from "./request-error.ts";

/**
 * Fragment size of long messages, in bytes. API Gateway closes a socket that sends a WebSocket frame above 32
 * KB.
 */
const fragmentBytes = 31 * 1024;

/** Keeps a quiet socket open. The gateway ignores events of peers. */
const quietFrame = JSON.stringify({ type: "evt", event: "quiet" });

/** How a socket ended. `status`: HTTP status of a refused upgrade. `code`: close code of the peer. */
export interface SocketEnd {
  reason: string;
  /** HTTP status of the upgrade; 500 also when `connect` was answered with an internal error. */
  status?: number;
  code?: number;
  /** Delay before the next attempt in ms, instead of the usual backoff. */
  retryAfterMs?: number;
}

/** `onEnd` is called at most once, and no callback is called after it. */
interface SocketOptions {
  url: string;
  token?: string;
  /** Time between pings, ms. */
  pingIntervalMs: number;
  /** Max silence of the peer after a ping, ms. */
  pongTimeoutMs: number;
  /** Time without a message after which one is sent, ms. AWS does not document that pings keep a socket open. */
  quietMs: number;
  onOpen(): void;
  onFrame(frame: Frame): void;
  /** API Gateway has not executed a request (`isNotExecuted`). */
  onNotExecuted(): void;
  onEnd(end: SocketEnd): void;
}

/** One WebSocket to the gateway. Sends and receives frames, and detects a peer that vanished without a close frame. */
export class GatewaySocket {
  readonly #options: SocketOptions;
  readonly #ws: WebSocket;
  #ended = false;
  #pingTimer: NodeJS.Timeout | undefined;
  #pongTimer: NodeJS.Timeout | undefined;
  #quietTimer: NodeJS.Timeout | undefined;

  /** @throws SyntaxError when the url is not a WebSocket address. */
  constructor(options: SocketOptions) {
    this.#options = options;
    const headers = options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` };
    this.#ws = new WebSocket(options.url, {
      headers,
      perMessageDeflate: false,
      maxPayload: 2 * maxFrameBytes,
    });
    this.#listen();
  }

  #listen(): void {
    const heard = (): void => this.#heard();
    this.#ws.on("open", () => {
      if (this.#ended) return;
      this.#pingTimer = setInterval(() => this.probe(), this.#options.pingIntervalMs);
      this.#quietTimer = setTimeout(() => this.send(quietFrame), this.#options.quietMs);
      this.#options.onOpen();
    });
    this.#ws.on("message", (data) => {
      if (this.#ended) return;
      heard();
      this.#quietTimer?.refresh();
      const text = data.toString();
      const frame = parseFrame(text);
      if (frame === undefined) {
        if (isNotExecuted(text)) this.#options.onNotExecuted();
      } else if (!("malformed" in frame)) this.#options.onFrame(frame);
    });
    this.#ws.on("ping", heard);
    this.#ws.on("pong", heard);
    this.#ws.on("unexpected-response", (_request, response) => {
      const status = response.statusCode ?? 0;
      this.end({ status, reason: `the gateway answered HTTP ${status}` });
    });
    this.#ws.on("error", (error) => this.end({ reason: describeFailure(error) }));
    this.#ws.on("close", (code, reason) => {
      const text = reason.toString();
      this.end({
        code,
        reason: `the gateway closed the connection (${code}${text === "" ? "" : ` ${text}`})`,
      });
    });
  }

  /**
   * Sends one message, in fragments when it is too long for one WebSocket frame.
   * @throws RequestError 413 above 128 KB, because the gateway would close the connection
   */
  send(text: string): void {
    const bytes = Buffer.from(text);
    if (bytes.length > maxFrameBytes) {
      throw new RequestError(
        localCode.tooLarge,
        `the request is ${bytes.length} bytes; the gateway accepts at most ${maxFrameBytes}`,
      );
    }
    this.#quietTimer?.refresh();
    for (let start = 0; start < bytes.length; ) {
      const end = fragmentEnd(bytes, start);
      this.#ws.send(bytes.subarray(start, end), { binary: false, fin: end === bytes.length });
      start = end;
    }
  }

  /** Sends a ping. Ends the socket when nothing is received within `pongTimeoutMs`. */
  probe(): void {
    if (this.#pongTimer !== undefined || this.#ws.readyState !== WebSocket.OPEN) return;
    this.#ws.ping();
    this.#pongTimer = setTimeout(
      () => this.end({ reason: "the gateway stopped answering" }),
      this.#options.pongTimeoutMs,
    );
  }

  /** Terminates the socket without a close frame and reports `end`. Does nothing on an ended socket. */
  end(end: SocketEnd): void {
    if (this.#ended) return;
    this.#release();
    this.#ws.terminate();
    this.#options.onEnd(end);
  }

  /** Closes the socket with code 1000 and waits up to 1 second for the peer. `onEnd` is not called. */
  async close(): Promise<void> {
    if (this.#ended) return;
    this.#release();
    if (this.#ws.readyState !== WebSocket.OPEN) return this.#ws.terminate();
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(() => this.#ws.terminate(), 1000);
      this.#ws.once("close", () => {
        clearTimeout(timeout);
        resolve();
      });
      this.#ws.close(1000);
    });
  }

  #heard(): void {
    clearTimeout(this.#pongTimer);
    this.#pongTimer = undefined;
  }

  #release(): void {
    this.#ended = true;
    clearInterval(this.#pingTimer);
    clearTimeout(this.#quietTimer);
    this.#quietTimer = undefined;
    this.#heard();
  }
}

/**
 * End index of the fragment that starts at `start`: at most `fragmentBytes` long, never inside a UTF-8
 * character.
 */
function fragmentEnd(bytes: Buffer, start: number): number {
  let end = Math.min(start + fragmentBytes, bytes.length);
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}

/**
 * A short text for a connection error. Node reports a host with several addresses as an AggregateError
 * without a message.
 */
function describeFailure(error: Error): string {
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED") return "nothing listens there (connection refused)";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "the host name cannot be resolved";
  return message || code || "the connection failed";
}
