import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { EventName, Events } from "../../shared/protocol/events.ts";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import type { HelloOk, Results } from "../../shared/protocol/results.ts";
import { version } from "../app/installation.ts";
import { Connection, type ConnectionState, type ConnectionTiming } from "./connection.ts";
import { machineId } from "./machine-id.ts";

/** The gateway client of commands: typed requests, events and connection state. */
export interface Gateway {
  readonly url: string;
  readonly hello: HelloOk;
  readonly state: ConnectionState;
  /** Throws a RequestError, as `Connection.request` does. `timeoutMs` defaults to 30,000. */
  request<M extends Method>(method: M, params?: ParamsInput<M>, timeoutMs?: number): Promise<Results[M]>;
  /** Uploads an attachment for a later `chat.send`; see `Connection.upload`. */
  upload(bytes: Uint8Array): Promise<string>;
  onEvent<E extends EventName>(event: E, handler: (payload: Events[E]) => void): () => void;
  onState(handler: (state: ConnectionState) => void): () => void;
  close(): Promise<void>;
}

/**
 * Connects to the gateway with one attempt. After a success, the connection reconnects automatically.
 * @param timing overrides the connection's default timeouts
 * @throws RequestError when the gateway cannot be reached or refuses the connection
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
      // Unique for each process: a second connection with the same id would end the first.
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
