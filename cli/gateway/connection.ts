import { randomUUID } from "node:crypto";
import { code } from "../../shared/protocol/errors.ts";
import type { Events } from "../../shared/protocol/events.ts";
import {
  type Frame,
  maxFrameBytes,
  maxPayloadBytes,
  payloadCapability,
  protocolVersion,
} from "../../shared/protocol/frames.ts";
import type { ToolDefinition } from "../../shared/protocol/messages.ts";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import type { HelloOk, Results } from "../../shared/protocol/results.ts";
import type { NodeRuntime } from "../../shared/protocol/schemas.ts";
import { backoffDelay } from "./backoff.ts";
import { type ConnectionTiming, defaultTiming } from "./connection-timing.ts";
import { FrameResolver, type TransferLimits, uploadBytes, uploadParams } from "./large-payloads.ts";
import { PendingRequests } from "./pending-requests.ts";
import { endedFor, finalEnd, isFinalRefusal, placeTaken, reclaimDelay } from "./refusal.ts";
import { localCode, RequestError } from "./request-error.ts";
import { GatewaySocket, type SocketEnd } from "./socket.ts";

export type { ConnectionTiming } from "./connection-timing.ts";
export { RequestError } from "./request-error.ts";

/** Default timeout of a request, in ms. */
const defaultTimeoutMs = 30_000;

/** Identity of the client: `client` of `connect` in docs/reference/protocol.md. */
interface ClientIdentity {
  id: string;
  version: string;
  platform: string;
  mode: "client" | "node" | "channel";
  channel?: string;
  accountId?: string;
  /** Identifies the process of a node, so that the gateway can refuse another process with the same id. */
  instance?: string;
}

export interface ConnectionOptions {
  url: string;
  /** Sent in the `Authorization` header and in the `connect` frame, never in the url. */
  token?: string;
  client: ClientIdentity;
  tools?: ToolDefinition[];
  nodeRuntime?: NodeRuntime;
  /** Replaces `tools` and `nodeRuntime`, for a node whose tools change: called for each new socket. */
  announce?(): Promise<{ tools: ToolDefinition[]; nodeRuntime: NodeRuntime }>;
  /** Capabilities in addition to large payloads, which every connection supports. */
  capabilities?: string[];
  /** Number of failed attempts after which `open` gives up before the first success. Default: unlimited. */
  firstAttempts?: number;
  /** Waits while another process uses the node's id. Otherwise `open` fails; a reconnect always waits. */
  waitsForPlace?: boolean;
  timing?: Partial<ConnectionTiming>;
}

/** `waiting`: the next attempt starts after `delayMs`. `closed` is final; `error` is absent after `close`. */
export type ConnectionState =
  | { status: "idle" }
  | { status: "connecting"; attempt: number }
  | { status: "connected"; hello: HelloOk }
  | { status: "waiting"; reason: string; delayMs: number }
  | { status: "closed"; error?: RequestError };

type EventHandler<E extends keyof Events> = (payload: Events[E]) => void;
type StateHandler = (state: ConnectionState) => void;

/**
 * A connection to the gateway that reconnects with backoff and sends `connect` on each new socket. It closes
 * permanently when the gateway refuses it (token, protocol version, role) or another client with its id
 * connects. A node whose id another process uses tries again later.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #timing: ConnectionTiming;
  readonly #pending = new PendingRequests();
  readonly #eventHandlers = new Map<string, Set<EventHandler<never>>>();
  readonly #stateHandlers = new Set<StateHandler>();
  #state: ConnectionState = { status: "idle" };
  #socket: GatewaySocket | undefined;
  #failures = 0;
  /** Number of consecutive attempts that were answered 403. */
  #forbidden = 0;
  #everConnected = false;
  /** How often another process has replaced this node. */
  #losses = 0;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<HelloOk> | undefined;
  /** Whether the gateway accepts large params by reference, according to its last hello. */
  #takesReferences = false;
  /** Aborts the socket's uploads and downloads when the socket ends. */
  #transfers = new AbortController();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /**
   * Largest request in bytes of JSON. One frame, until a gateway has announced that it accepts larger ones.
   */
  get maxRequestBytes(): number {
    return this.#takesReferences ? maxPayloadBytes : maxFrameBytes;
  }

  /**
   * Starts connecting. Resolves when the first attempt succeeds. Rejects with a RequestError when the connection closes
   * before.
   */
  open(): Promise<HelloOk> {
    this.#opening ??= new Promise<HelloOk>((resolve, reject) => {
      const unsubscribe = this.onState((state) => {
        if (state.status !== "connected" && state.status !== "closed") return;
        unsubscribe();
        if (state.status === "connected") resolve(state.hello);
        else reject(state.error ?? new RequestError(localCode.notConnected, "the connection was closed"));
      });
      this.#attempt();
    });
    return this.#opening;
  }

  /**
   * Sends a request and returns the payload of its response. Params and responses too large for a frame are
   * transferred through the gateway's storage, up to 10 MB, when the gateway supports it.
   * @throws RequestError the gateway's refusal; 101 (retryable) when not connected or when the connection is
   *   lost before the answer; 408 (retryable) after `timeoutMs` (default 30,000; transfers are not counted);
   *   413 for params that are too large or cannot be uploaded; 503 (retryable) for an answer that cannot be
   *   fetched.
   */
  async request<M extends Method>(
    method: M,
    params?: ParamsInput<M>,
    options: { timeoutMs?: number } = {},
  ): Promise<Results[M]> {
    if (this.#state.status !== "connected" || this.#socket === undefined) {
      throw notConnected();
    }
    return this.#call(this.#socket, method, params, options.timeoutMs ?? defaultTimeoutMs);
  }

  /**
   * Uploads an attachment. Returns a ref, which a later request on the same socket carries as `dataRef`.
   * @throws RequestError as `request` does
   */
  upload(bytes: Uint8Array): Promise<string> {
    const socket = this.#socket;
    if (socket === undefined || this.#state.status !== "connected") return Promise.reject(notConnected());
    const reserve = (length: number) =>
      this.#call(socket, "payload.upload", { bytes: length, kind: "media" }, defaultTimeoutMs);
    const file = { what: "the attachment", contentType: "application/octet-stream", bytes };
    return this.#onSocket(socket, uploadBytes(file, reserve, this.#transferLimits()));
  }

  /** Calls `handler` with the payload of each event of this name. Returns a function that unsubscribes. */
  onEvent<E extends keyof Events>(event: E, handler: EventHandler<E>): () => void {
    const handlers = this.#eventHandlers.get(event) ?? new Set();
    this.#eventHandlers.set(event, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** Calls `handler` at each change of state. Returns a function that unsubscribes. */
  onState(handler: StateHandler): () => void {
    this.#stateHandlers.add(handler);
    return () => this.#stateHandlers.delete(handler);
  }

  /** Connects on another socket, which announces what has changed. Nothing happens while there is no connection. */
  reconnect(reason: string): void {
    if (this.#state.status === "connected") this.#socket?.end({ reason, retryAfterMs: 0 });
  }

  /** Closes the connection permanently. Pending requests are rejected. */
  async close(): Promise<void> {
    const socket = this.#socket;
    this.#finish(undefined);
    await socket?.close();
  }

  #attempt(): void {
    this.#enter({ status: "connecting", attempt: this.#failures + 1 });
    try {
      this.#transfers = new AbortController();
      const frames = new FrameResolver({
        ...this.#transferLimits(),
        onFrame: (frame) => {
          if (socket === this.#socket) this.#receive(frame);
        },
        onAnswerComing: (id) => this.#pending.keep(id),
        // Events are not replayed: subscribers resync after a reconnect.
        onEventLost: (reason) => socket.end({ reason }),
      });
      const socket: GatewaySocket = new GatewaySocket({
        url: this.#options.url,
        token: this.#options.token,
        pingIntervalMs: this.#timing.pingIntervalMs,
        pongTimeoutMs: this.#timing.pongTimeoutMs,
        quietMs: this.#timing.quietMs,
        onOpen: () => void this.#introduce(socket),
        onFrame: (frame) => frames.take(frame),
        onNotExecuted: () => this.#pending.notExecuted(),
        onEnd: (end) => this.#socketEnded(end),
      });
      this.#socket = socket;
      this.#timer = setTimeout(
        () => socket.end({ reason: "the gateway did not answer in time" }),
        this.#timing.connectTimeoutMs,
      );
    } catch (error) {
      const detail = error instanceof SyntaxError ? "not a WebSocket address" : (error as Error).message;
      this.#finish(new RequestError(code.badRequest, `cannot connect to ${this.#options.url}: ${detail}`));
    }
  }

  async #introduce(socket: GatewaySocket): Promise<void> {
    const { client, tools, nodeRuntime, announce, capabilities, token } = this.#options;
    const own = announce ? await announce() : { tools, nodeRuntime };
    if (socket !== this.#socket) return;
    const auth = token === undefined ? undefined : { token };
    const versions = { minProtocol: protocolVersion, maxProtocol: protocolVersion };
    const announced = [payloadCapability, ...(capabilities ?? [])];
    const params = { ...versions, client, ...own, capabilities: announced, auth };
    try {
      const hello = await this.#call(socket, "connect", params, this.#timing.connectTimeoutMs);
      if (socket !== this.#socket) return;
      if (!isHello(hello))
        throw new RequestError(code.unsupportedVersion, "the server is not a gsv gateway; check the url");
      this.#connected(hello);
    } catch (error) {
      // The socket has ended meanwhile: #socketEnded has already scheduled the next attempt or closed.
      if (socket !== this.#socket) return;
      const refusal = error as RequestError;
      const taken = placeTaken(refusal);
      const givesUp = taken?.alive && !this.#everConnected && !this.#options.waitsForPlace;
      if (isFinalRefusal(refusal.code) || givesUp) this.#refuse(socket, refusal);
      else {
        const retryAfterMs = taken?.alive ? this.#timing.reclaimMs : taken?.retryAfterMs;
        const reason = `the gateway refused to connect: ${refusal.message}`;
        socket.end({
          reason,
          retryAfterMs,
          ...(refusal.code === code.internal ? { status: refusal.code } : {}),
        });
      }
    }
  }

  #connected(hello: HelloOk): void {
    this.#everConnected = true;
    this.#takesReferences = hello.features.methods.includes("payload.upload");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#failures = 0;
    }, this.#timing.stableMs);
    this.#enter({ status: "connected", hello });
  }

  async #call<M extends Method>(
    socket: GatewaySocket,
    method: M,
    params: ParamsInput<M> | undefined,
    timeoutMs: number,
  ): Promise<Results[M]> {
    const id = randomUUID();
    let text = JSON.stringify({ type: "req", id, method, params });
    const byReference =
      this.#takesReferences && this.#state.status === "connected" && Buffer.byteLength(text) > maxFrameBytes;
    if (byReference) {
      const paramsRef = await this.#upload(socket, params, timeoutMs);
      text = JSON.stringify({ type: "req", id, method, paramsRef });
    }
    const answer = await this.#pending.answerTo(id, method, timeoutMs, {
      send: () => socket.send(text),
      // Is the socket still alive?
      onTimeout: () => socket.probe(),
    });
    return answer as Results[M];
  }

  #upload(socket: GatewaySocket, params: unknown, timeoutMs: number): Promise<string> {
    const reserve = (bytes: number) => this.#call(socket, "payload.upload", { bytes }, timeoutMs);
    return this.#onSocket(socket, uploadParams(params, reserve, this.#transferLimits()));
  }

  #onSocket(socket: GatewaySocket, upload: Promise<string>): Promise<string> {
    return upload.finally(() => {
      // The ref is valid only on the socket of its upload.
      if (socket !== this.#socket)
        throw new RequestError(localCode.notConnected, "the connection was lost", { retryable: true });
    });
  }

  #receive(frame: Frame): void {
    if (frame.type === "evt") {
      if (frame.event === "connection.ended") this.#endedByGateway(frame.payload);
      // Event payloads of the gateway are trusted, not validated.
      for (const handler of this.#eventHandlers.get(frame.event) ?? []) handler(frame.payload as never);
      return;
    }
    if (frame.type !== "res") return;
    const refusal = this.#pending.settle(frame);
    if (refusal === undefined || this.#state.status !== "connected" || this.#socket === undefined) return;
    // The gateway has forgotten this connection, or no longer accepts its token.
    if (refusal.code === code.notConnected) this.#socket.end({ reason: "the gateway lost this connection" });
    if (refusal.code === code.unauthorized) this.#refuse(this.#socket, refusal);
  }

  #socketEnded(end: SocketEnd): void {
    this.#forbidden = end.status === 403 ? this.#forbidden + 1 : 0;
    const final = finalEnd(end, this.#forbidden);
    this.#leaveSocket();
    this.#pending.rejectAll(new RequestError(localCode.notConnected, end.reason, { retryable: true }));
    if (final !== undefined) {
      this.#finish(final);
      return;
    }
    this.#failures++;
    if (
      !this.#everConnected &&
      this.#forbidden === 0 &&
      this.#failures >= (this.#options.firstAttempts ?? Number.POSITIVE_INFINITY)
    ) {
      this.#finish(unreachable(this.#options.url, end));
      return;
    }
    const { backoffMinMs, backoffMaxMs } = this.#timing;
    const delayMs = end.retryAfterMs ?? backoffDelay(this.#failures - 1, backoffMinMs, backoffMaxMs);
    this.#timer = setTimeout(() => this.#attempt(), delayMs);
    this.#enter({ status: "waiting", reason: end.reason, delayMs });
  }

  #endedByGateway(payload: unknown): void {
    const { reason } = payload as Events["connection.ended"];
    const socket = this.#socket;
    const { mode, id } = this.#options.client;
    const error = endedFor(reason, id);
    // A node tries again later: the other process may be gone by then.
    if (mode === "node" && reason === "superseded") {
      socket?.end({
        reason: error.message,
        retryAfterMs: reclaimDelay(this.#timing.reclaimMs, ++this.#losses),
      });
      return;
    }
    this.#finish(error);
    void socket?.close();
  }

  /** Closes the connection because the gateway refused it permanently. */
  #refuse(socket: GatewaySocket, refusal: RequestError): void {
    const { code, message, details } = refusal;
    this.#finish(new RequestError(code, `the gateway refused the connection: ${message}`, { details }));
    void socket.close();
  }

  #finish(error: RequestError | undefined): void {
    if (this.#state.status === "closed") return;
    this.#leaveSocket();
    this.#pending.rejectAll(error ?? new RequestError(localCode.notConnected, "the connection was closed"));
    this.#enter({ status: "closed", error });
  }

  #leaveSocket(): void {
    clearTimeout(this.#timer);
    this.#socket = undefined;
    this.#transfers.abort();
  }

  #transferLimits(): TransferLimits {
    return { timeoutMs: this.#timing.transferTimeoutMs, signal: this.#transfers.signal };
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    for (const handler of this.#stateHandlers) handler(state);
  }
}

function notConnected(): RequestError {
  return new RequestError(localCode.notConnected, "not connected to the gateway", { retryable: true });
}

function isHello(payload: unknown): payload is HelloOk {
  return typeof payload === "object" && payload !== null && "type" in payload && payload.type === "hello-ok";
}

/** Why the first connection failed. A gateway that answers 5xx runs, and its terminal or log says what it lacks. */
function unreachable(url: string, { status = 0, reason }: SocketEnd): RequestError {
  return status >= 500
    ? new RequestError(code.internal, `${url}: ${reason}; its terminal or log says why`, { retryable: true })
    : new RequestError(localCode.notConnected, `cannot reach ${url}: ${reason}`, { retryable: true });
}
