import type { Events } from "../../shared/protocol/events.ts";
import type { EventFrame, Frame, ResponseFrame } from "../../shared/protocol/frames.ts";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import type { HelloOk, Results } from "../../shared/protocol/results.ts";
import { fetchFrame, maxMessageBytes, putBytes, putFile } from "./large-params.ts";
import { notConnected, WireError } from "./wire-error.ts";

/** `refused` and `replaced` are final: the page must not connect again by itself. */
export type WireState =
  | { status: "connecting" }
  | { status: "connected"; hello: HelloOk }
  | { status: "waiting"; reason: string; until: number }
  | { status: "refused"; reason: string }
  | { status: "replaced" };

export type WireAuth = { token: string } | { code: string };

interface WireTiming {
  /** Bounds of the delay before a reconnect, ms. */
  minDelayMs: number;
  maxDelayMs: number;
  /** Time for the socket and `connect`, ms. */
  openMs: number;
  requestMs: number;
  /** After this time without a message the connection is probed, ms. */
  quietMs: number;
  /** Time for the answer to a probe, ms. */
  probeMs: number;
}

const defaultTiming: WireTiming = {
  ...{ minDelayMs: 500, maxDelayMs: 15_000, openMs: 15_000 },
  ...{ requestMs: 30_000, quietMs: 240_000, probeMs: 5_000 },
};

/** The part of a browser's WebSocket that is used. */
export type SocketClass = new (
  url: string,
) => Pick<WebSocket, "send" | "close"> & {
  onopen: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
};

export interface WireOptions {
  url: string;
  auth: WireAuth;
  /** Called with the token that the gateway gave for a code, once. */
  onToken?: (token: string) => void;
  /** Unique among the open pages. */
  clientId: string;
  version: string;
  Socket?: SocketClass;
  /** Default: that of a browser. */
  putFile?: typeof putFile;
  timing?: Partial<WireTiming>;
}

interface Pending {
  method: Method;
  timer: ReturnType<typeof setTimeout>;
  resolve(payload: unknown): void;
  reject(error: WireError): void;
}

/** What API Gateway itself sends when it could not call the gateway's function. It does not name the request. */
interface NotExecuted {
  message: string;
  connectionId: string;
  requestId: string;
}

type Handler = (payload: never) => void;

/** Codes of `connect` that a retry cannot fix: version, client, params, token or code, rights, method. */
const finalCodes = [102, 103, 400, 401, 403, 404];

/** A connection to the gateway. It connects again with backoff until the gateway refuses it. */
export class PageConnection {
  readonly #options: WireOptions;
  #auth: WireAuth;
  readonly #timing: WireTiming;
  readonly #pending = new Map<string, Pending>();
  readonly #handlers = new Map<string, Set<Handler>>();
  readonly #stateHandlers = new Set<(state: WireState) => void>();
  #state: WireState = { status: "connecting" };
  #socket: InstanceType<SocketClass> | undefined;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  /** Resolves when the events so far are handled: one that is fetched delays the later ones. */
  #events: Promise<void> | undefined;

  constructor(options: WireOptions) {
    this.#options = options;
    this.#auth = options.auth;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  get state(): WireState {
    return this.#state;
  }

  /** Starts to connect. */
  open(): void {
    clearTimeout(this.#timer);
    const { url, Socket = WebSocket as SocketClass } = this.#options;
    const socket = new Socket(url);
    this.#socket = socket;
    this.#enter({ status: "connecting" });
    socket.onopen = () => void this.#introduce(socket);
    socket.onclose = () => this.#lost(socket, "the connection was lost");
    socket.onmessage = ({ data }: { data: unknown }) => this.#received(socket, String(data));
    this.#timer = setTimeout(() => this.#lost(socket, "the gateway did not answer"), this.#timing.openMs);
  }

  /** Ends the connection. `open` may follow. */
  close(): void {
    clearTimeout(this.#timer);
    this.#drop(this.#socket);
  }

  /** Connects now if a delay is running, and probes the connection otherwise: call it when the page is visible again. */
  wake(): void {
    if (this.#state.status === "waiting") this.open();
    else if (this.#state.status === "connected") this.#probe();
  }

  /** Calls `handler` with each payload of the event. Returns a function that unsubscribes. */
  on<E extends keyof Events>(event: E, handler: (payload: Events[E]) => void): () => void {
    const handlers = this.#handlers.get(event) ?? new Set();
    this.#handlers.set(event, handlers.add(handler as Handler));
    return () => handlers.delete(handler as Handler);
  }

  /** Calls `handler` with the state now, and at each change. Returns a function that unsubscribes. */
  onState(handler: (state: WireState) => void): () => void {
    this.#stateHandlers.add(handler);
    handler(this.#state);
    return () => this.#stateHandlers.delete(handler);
  }

  /**
   * Sends a request and returns the payload of its answer. Large params and answers travel through the gateway's storage.
   * @throws WireError the gateway's refusal, 101 without a connection, 408 without an answer, 413 and 503 of the storage
   */
  async request<M extends Method>(
    method: M,
    params?: ParamsInput<M>,
    timeoutMs = this.#timing.requestMs,
  ): Promise<Results[M]> {
    const socket = this.#socket;
    if (this.#state.status !== "connected" || !socket) throw notConnected();
    return (await this.#call(socket, method, params, timeoutMs)) as Results[M];
  }

  /**
   * Uploads an attachment. Returns its `dataRef`, valid for one request on this connection.
   * @param onSent called with the number of its bytes that are sent
   * @throws as `request`
   */
  async upload(file: Blob, onSent: (bytes: number) => void): Promise<string> {
    const { ref, url } = await this.request("payload.upload", { bytes: file.size, kind: "media" });
    await (this.#options.putFile ?? putFile)(url, file, onSent);
    return ref;
  }

  async #introduce(socket: InstanceType<SocketClass>): Promise<void> {
    const { clientId: id, version, onToken } = this.#options;
    const client = { id, version, platform: "web", mode: "client" };
    const params = {
      minProtocol: 1,
      maxProtocol: 1,
      client,
      auth: this.#auth,
      capabilities: ["payload-s3", "session-events"],
    };
    try {
      const hello = (await this.#call(socket, "connect", params, this.#timing.openMs)) as HelloOk;
      // Kept although the socket may have ended meanwhile: a code is accepted once.
      const token = tokenOf(hello);
      if (token !== undefined) {
        this.#auth = { token };
        onToken?.(token);
      }
      if (socket !== this.#socket) return;
      clearTimeout(this.#timer);
      this.#failures = 0;
      this.#enter({ status: "connected", hello });
    } catch (error) {
      if (socket !== this.#socket) return;
      const { code, message } = error as WireError;
      if (finalCodes.includes(code)) this.#end({ status: "refused", reason: message });
      else this.#lost(socket, message);
    }
  }

  async #call(
    socket: InstanceType<SocketClass>,
    method: Method,
    params: unknown,
    timeoutMs: number,
  ): Promise<unknown> {
    const id = crypto.randomUUID();
    let text = JSON.stringify({ type: "req", id, method, params });
    const bytes = new TextEncoder().encode(text).byteLength;
    if (bytes > maxMessageBytes) {
      const body = new TextEncoder().encode(JSON.stringify(params));
      const upload = await this.#call(socket, "payload.upload", { bytes: body.byteLength }, timeoutMs);
      const { ref, url } = upload as Results["payload.upload"];
      await putBytes(url, body, "application/json");
      if (socket !== this.#socket) throw notConnected();
      text = JSON.stringify({ type: "req", id, method, paramsRef: ref });
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new WireError(408, `${method}: no answer from the gateway`, true));
        this.#probe();
      }, timeoutMs);
      this.#pending.set(id, { method, timer, resolve, reject });
      socket.send(text);
    });
  }

  #received(socket: InstanceType<SocketClass>, text: string): void {
    if (socket !== this.#socket) return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#probe(), this.#timing.quietMs);
    const frame = JSON.parse(text) as Frame | NotExecuted;
    if (!("type" in frame)) this.#notExecuted(frame);
    else if (frame.type === "res") void this.#settle(frame);
    else if (frame.type === "evt") this.#queue(socket, frame);
  }

  /** Fails the request that was not executed. Among several, it is unknown which one: they time out. */
  #notExecuted({ message }: NotExecuted): void {
    const [[id, pending] = [], other] = this.#pending;
    if (id === undefined || !pending || other) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    pending.reject(new WireError(503, `${pending.method} was not executed: ${message}. Try again.`, true));
  }

  async #settle(frame: ResponseFrame): Promise<void> {
    const pending = this.#pending.get(frame.id);
    if (!pending) return;
    this.#pending.delete(frame.id);
    clearTimeout(pending.timer);
    const whole = frame.payloadRef ? await fetchFrame(frame.payloadRef.url).catch(asError) : frame;
    if (whole instanceof WireError) pending.reject(whole);
    else if (whole.type === "res" && whole.ok) pending.resolve(whole.payload);
    else {
      const { code = 500, message = "the gateway gave no reason", retryable } = errorOf(whole);
      pending.reject(new WireError(code, message, retryable ?? (code === 429 || code >= 500)));
      // The gateway has forgotten this connection, or its token.
      if (code === 101) this.#lost(this.#socket, message);
      if (code === 401 && pending.method !== "connect") this.#end({ status: "refused", reason: message });
    }
  }

  /** Handles an event after the earlier ones. One that cannot be fetched ends the connection: after it, all is read again. */
  #queue(socket: InstanceType<SocketClass>, frame: EventFrame): void {
    if (!frame.payloadRef && !this.#events) {
      this.#handle(frame);
      return;
    }
    const whole = frame.payloadRef ? fetchFrame(frame.payloadRef.url) : Promise.resolve(frame);
    const handled: Promise<void> = (this.#events ?? Promise.resolve())
      .then(() => whole)
      .then((found) => {
        if (this.#events === handled) this.#events = undefined;
        if (found.type === "evt" && socket === this.#socket) this.#handle(found);
      })
      .catch(() => this.#lost(socket, "an event could not be fetched"));
    this.#events = handled;
  }

  #handle({ event, payload }: EventFrame): void {
    if (event === "connection.ended") {
      const { reason } = payload as Events["connection.ended"];
      this.#end(
        reason === "revoked"
          ? { status: "refused", reason: "this device was signed out" }
          : { status: "replaced" },
      );
    }
    for (const handler of this.#handlers.get(event) ?? []) handler(payload as never);
  }

  #probe(): void {
    const socket = this.#socket;
    if (this.#state.status !== "connected" || !socket) return;
    this.#call(socket, "tools.list", {}, this.#timing.probeMs).catch((error: WireError) => {
      if (error.code === 408) this.#lost(socket, "the gateway stopped answering");
    });
  }

  #lost(socket: InstanceType<SocketClass> | undefined, reason: string): void {
    if (socket !== this.#socket || !socket) return;
    this.#drop(socket);
    const { minDelayMs, maxDelayMs } = this.#timing;
    // Half of the delay is random, so that many pages do not come back at once.
    const delay = Math.min(maxDelayMs, minDelayMs * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => this.open(), delay);
    this.#enter({ status: "waiting", reason, until: Date.now() + delay });
  }

  #end(state: WireState): void {
    this.#drop(this.#socket);
    this.#enter(state);
  }

  #drop(socket: InstanceType<SocketClass> | undefined): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#quiet);
    this.#socket = undefined;
    this.#events = undefined;
    if (socket) {
      socket.onclose = null;
      socket.onmessage = null;
      socket.close();
    }
    const open = [...this.#pending.values()];
    this.#pending.clear();
    for (const { timer, reject } of open) {
      clearTimeout(timer);
      reject(notConnected());
    }
  }

  #enter(state: WireState): void {
    this.#state = state;
    for (const handler of this.#stateHandlers) handler(state);
  }
}

/** The token that a code was exchanged for. */
function tokenOf(hello: HelloOk & { auth?: { token?: string } }): string | undefined {
  return hello.auth?.token;
}

function asError(error: unknown): WireError {
  return error instanceof WireError ? error : new WireError(503, "the answer could not be read", true);
}

function errorOf(frame: Frame): Partial<NonNullable<ResponseFrame["error"]>> {
  return frame.type === "res" && frame.error ? frame.error : {};
}
