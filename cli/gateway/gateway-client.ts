import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { EventName, Events } from "../../shared/protocol/events.ts";
import type { CallParams, CallResult } from "../../shared/protocol/gsv-gateway.ts";
import type { Method } from "../../shared/protocol/methods.ts";
import type { HelloOk } from "../../shared/protocol/results.ts";
import { version } from "../app/version.ts";
import { Connection, type ConnectionState, type ConnectionTiming } from "./connection.ts";

/** The gateway as commands use it: typed requests, events, and word of a lost connection. */
export interface Gateway {
  readonly url: string;
  readonly hello: HelloOk;
  readonly state: ConnectionState;
  /** Throws a RequestError, as `Connection.request` does. `timeoutMs`: 30,000 unless told. */
  request<M extends Method>(method: M, params?: CallParams<M>, timeoutMs?: number): Promise<CallResult<M>>;
  /** Uploads an attachment for a `chat.send` that follows; as `Connection.upload` does. */
  upload(bytes: Uint8Array): Promise<string>;
  onEvent<E extends EventName>(event: E, handler: (payload: Events[E]) => void): () => void;
  onState(handler: (state: ConnectionState) => void): () => void;
  close(): Promise<void>;
}

/**
 * Connects once; it later reconnects by itself. Throws a RequestError when the gateway is not reached or refuses.
 * `timing`: where the connection's defaults do not fit.
 */
export async function openGateway(
  url: string,
  token: string | undefined,
  timing?: Partial<ConnectionTiming>,
): Promise<Gateway> {
  const connection = new Connection({
    url,
    token,
    client: {
      // Of its own for each process: a second connection with the same id would end the first.
      id: `cli-${machineId(hostname()).slice(0, 40)}-${randomUUID().slice(0, 8)}`,
      version,
      platform: process.platform,
      mode: "client",
    },
    firstAttempts: 1,
    timing,
  });
  const hello = await connection.open();
  return {
    url,
    hello,
    get state() {
      return connection.state;
    },
    request: (method, params, timeoutMs) => connection.request(method, params, { timeoutMs }),
    upload: (bytes) => connection.upload(bytes),
    onEvent: (event, handler) => connection.onEvent(event, handler),
    onState: (handler) => connection.onState(handler),
    close: () => connection.close(),
  };
}

/** A machine's name as an id: its first label, lower case, what ids may not hold as hyphens; `node` when nothing is left. */
export function machineId(host: string): string {
  const label = host.toLowerCase().split(".")[0] ?? "";
  const id = label
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 48);
  return id || "node";
}
