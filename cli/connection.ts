import { randomUUID } from "node:crypto";
import { code } from "../shared/protocol/errors.ts";
import type { Frame } from "../shared/protocol/frames.ts";
import { protocolVersion } from "../shared/protocol/frames.ts";
import type { ToolDefinition } from "../shared/protocol/messages.ts";
import type { NodeRuntime } from "../shared/protocol/schemas.ts";
import { backoffDelay } from "./connection/backoff.ts";
import { PendingRequests } from "./connection/pending.ts";
import { finalEnd, isFinalRefusal } from "./connection/refusal.ts";
import { localCode, RequestError } from "./connection/request-error.ts";
import type { SocketEnd } from "./connection/socket.ts";
import { GatewaySocket } from "./connection/socket.ts";

export { RequestError } from "./connection/request-error.ts";

/** Times of a connection, ms. The defaults fit API Gateway: idle sockets end after 10 minutes, every socket after 2 hours. */
export interface ConnectionTiming {
  pingIntervalMs: number;
  pongTimeoutMs: number;
  /** Upgrade and `connect` together. Above API Gateway's 29 s, so that no `connect` is carried out after it was given up. */
  connectTimeoutMs: number;
  /** A connection that lasted this long starts the backoff afresh. */
  stableMs: number;
  backoffMinMs: number;
  backoffMaxMs: number;
}

const defaultTiming: ConnectionTiming = {
  pingIntervalMs: 240_000,
  pongTimeoutMs: 10_000,
  connectTimeoutMs: 35_000,
  stableMs: 30_000,
  backoffMinMs: 500,
  backoffMaxMs: 30_000,
};

/** Who connects: `connect` in docs/protocol.md. */
export interface ClientIdentity {
  id: string;
  version: string;
  platform: string;
  mode: "client" | "node" | "channel";
  channel?: string;
  accountId?: string;
}

export interface ConnectionOptions {
  url: string;
  /** Sent in the `Authorization` header and in the `connect` frame, never in the url. */
  token?: string;
  client: ClientIdentity;
  tools?: ToolDefinition[];
  nodeRuntime?: NodeRuntime;
  capabilities?: string[];
  /** Failed attempts after which `open` gives up when it has never been connected. Default: never. */
  firstAttempts?: number;
  timing?: Partial<ConnectionTiming>;
}

/** The gateway's answer to `connect`. */
export interface HelloOk {
  type: "hello-ok";
  protocol: number;
  server: { version: string; connectionId: string };
  features: { methods: string[]; events: string[] };
}

/** `waiting`: the next attempt follows in `delayMs`. `closed` is final; `error` says why, unless `close` was called. */
export type ConnectionState =
  | { status: "idle" }
  | { status: "connecting"; attempt: number }
  | { status: "connected"; hello: HelloOk }
  | { status: "waiting"; reason: string; delayMs: number }
  | { status: "closed"; error?: RequestError };

type EventHandler = (payload: unknown) => void;
type StateHandler = (state: ConnectionState) => void;

/**
 * A connection to the gateway that outlives its sockets: it reconnects with backoff and introduces itself again each
 * time. It ends for good when the gateway refuses it (token, protocol version, role) or another one takes its place.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #timing: ConnectionTiming;
  readonly #pending = new PendingRequests();
  readonly #eventHandlers = new Map<string, Set<EventHandler>>();
  readonly #stateHandlers = new Set<StateHandler>();
  #state: ConnectionState = { status: "idle" };
  #socket: GatewaySocket | undefined;
  #failures = 0;
  #everConnected = false;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<HelloOk> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Starts connecting. Resolves at the first success; rejects with a RequestError when the connection ends before it. */
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
   * Sends a request and returns the payload of its answer.
   * @throws RequestError the gateway's refusal; 101 (retryable) when not connected or when the connection is lost
   *   before the answer; 408 (retryable) after `timeoutMs` (default 30,000); 413 when the frame would exceed 128 KB.
   */
  request(method: string, params?: unknown, options: { timeoutMs?: number } = {}): Promise<unknown> {
    if (this.#state.status !== "connected" || this.#socket === undefined) {
      return Promise.reject(
        new RequestError(localCode.notConnected, "not connected to the gateway", { retryable: true }),
      );
    }
    return this.#call(this.#socket, method, params, options.timeoutMs ?? 30_000);
  }

  /** Calls `handler` with the payload of each event of this name. Returns what undoes it. */
  onEvent(event: string, handler: EventHandler): () => void {
    const handlers = this.#eventHandlers.get(event) ?? new Set();
    this.#eventHandlers.set(event, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** Calls `handler` at each change of state. Returns what undoes it. */
  onState(handler: StateHandler): () => void {
    this.#stateHandlers.add(handler);
    return () => this.#stateHandlers.delete(handler);
  }

  /** Ends the connection for good. Requests without an answer are rejected. */
  async close(): Promise<void> {
    const socket = this.#socket;
    this.#finish(undefined);
    await socket?.close();
  }

  #attempt(): void {
    this.#enter({ status: "connecting", attempt: this.#failures + 1 });
    try {
      const socket: GatewaySocket = new GatewaySocket({
        url: this.#options.url,
        token: this.#options.token,
        pingIntervalMs: this.#timing.pingIntervalMs,
        pongTimeoutMs: this.#timing.pongTimeoutMs,
        onOpen: () => void this.#introduce(socket),
        onFrame: (frame) => this.#receive(frame),
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
    const { client, tools, nodeRuntime, capabilities, token } = this.#options;
    const auth = token === undefined ? undefined : { token };
    const versions = { minProtocol: protocolVersion, maxProtocol: protocolVersion };
    const params = { ...versions, client, tools, nodeRuntime, capabilities, auth };
    try {
      const hello = await this.#call(socket, "connect", params, this.#timing.connectTimeoutMs);
      if (socket !== this.#socket) return;
      if (!isHello(hello))
        throw new RequestError(code.unsupportedVersion, "its answer is not a gsv gateway's");
      this.#connected(hello);
    } catch (error) {
      // A socket that ended meanwhile has settled what comes next.
      if (socket !== this.#socket) return;
      const refusal = error as RequestError;
      if (isFinalRefusal(refusal.code)) this.#refuse(socket, refusal);
      else socket.end({ reason: `the gateway refused to connect: ${refusal.message}` });
    }
  }

  #connected(hello: HelloOk): void {
    this.#everConnected = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#failures = 0;
    }, this.#timing.stableMs);
    this.#enter({ status: "connected", hello });
  }

  async #call(socket: GatewaySocket, method: string, params: unknown, timeoutMs: number): Promise<unknown> {
    const id = randomUUID();
    socket.send(JSON.stringify({ type: "req", id, method, params }));
    // Silence may mean that the peer is gone.
    return this.#pending.answerTo(id, method, timeoutMs, () => socket.probe());
  }

  #receive(frame: Frame): void {
    if (frame.type === "evt") {
      for (const handler of this.#eventHandlers.get(frame.event) ?? []) handler(frame.payload);
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
    const final = finalEnd(end, this.#state.status === "connected", this.#options.client.id);
    this.#socket = undefined;
    clearTimeout(this.#timer);
    this.#pending.rejectAll(new RequestError(localCode.notConnected, end.reason, { retryable: true }));
    if (final !== undefined) {
      this.#finish(final);
      return;
    }
    this.#failures++;
    if (!this.#everConnected && this.#failures >= (this.#options.firstAttempts ?? Number.POSITIVE_INFINITY)) {
      const message = `cannot reach ${this.#options.url}: ${end.reason}`;
      this.#finish(new RequestError(localCode.notConnected, message, { retryable: true }));
      return;
    }
    const { backoffMinMs, backoffMaxMs } = this.#timing;
    const delayMs = backoffDelay(this.#failures - 1, backoffMinMs, backoffMaxMs);
    this.#timer = setTimeout(() => this.#attempt(), delayMs);
    this.#enter({ status: "waiting", reason: end.reason, delayMs });
  }

  /** Ends the connection because the gateway has said no for good. */
  #refuse(socket: GatewaySocket, refusal: RequestError): void {
    this.#finish(new RequestError(refusal.code, `the gateway refused the connection: ${refusal.message}`));
    void socket.close();
  }

  #finish(error: RequestError | undefined): void {
    if (this.#state.status === "closed") return;
    clearTimeout(this.#timer);
    this.#socket = undefined;
    this.#pending.rejectAll(error ?? new RequestError(localCode.notConnected, "the connection was closed"));
    this.#enter({ status: "closed", error });
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    for (const handler of this.#stateHandlers) handler(state);
  }
}

function isHello(payload: unknown): payload is HelloOk {
  return typeof payload === "object" && payload !== null && "type" in payload && payload.type === "hello-ok";
}
