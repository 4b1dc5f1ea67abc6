import * as names from "./cloud-names.ts";
import { startFunctionUrl } from "./http/function-url.ts";
import type { Endpoint } from "./http/http-endpoint.ts";
import type { Machine } from "./machine.ts";
import {
  startWebSocketApi,
  type WebSocketApiOptions,
  type WebSocketEndpoint,
} from "./websocket/websocket-api.ts";
import type { WebSocketLimits } from "./websocket/websocket-limits.ts";

export interface ListenerOptions {
  /** Port of the WebSocket API; 0 for a free one. Default: its previous port, or a free one. */
  port?: number;
  /** Names of hosts under which a tunnel or proxy forwards requests to the endpoints. */
  hosts?: readonly string[];
  limits?: Partial<WebSocketLimits>;
  /** Whether the event `$disconnect` of a connection is lost. */
  losesDisconnect?: (connectionId: string) => boolean;
  /** Answers the requests to the WebSocket API's port that open no connection. Default: 426 Upgrade Required. */
  answerHttp?: WebSocketApiOptions["answerHttp"];
}

/** The public endpoints: the WebSocket API for peers, and the URLs of the functions that answer HTTP. */
export interface Listeners {
  ws: WebSocketEndpoint;
  webhook: Endpoint;
  openai: Endpoint;
  mcp: Endpoint;
  /** The console. On a port of its own: an origin that it shares with nothing. */
  page: Endpoint;
}

/** Starts the endpoints. @throws PortInUseError for `port` */
export async function startListeners(machine: Machine, options: ListenerOptions): Promise<Listeners> {
  const { host, onError } = machine;
  const { port, hosts, limits, losesDisconnect, answerHttp } = options;
  const begin = (port: number) =>
    startWebSocketApi({
      invoke: (event) => host.invoke("socket", event),
      stage: names.webSocketStage,
      apiId: names.webSocketApiId,
      port,
      hosts,
      limits,
      losesDisconnect,
      answerHttp,
      onError,
    });
  const urlOf = (name: "webhook" | "openai" | "mcp" | "page", pages = false) =>
    machine.open(name, (port) =>
      startFunctionUrl({ invoke: (event) => host.invoke(name, event), port, hosts, pages, onError }),
    );
  return {
    ws: await machine.open("ws", port === undefined ? begin : () => begin(port)),
    webhook: await urlOf("webhook"),
    openai: await urlOf("openai"),
    mcp: await urlOf("mcp"),
    page: await urlOf("page", true),
  };
}
