import { createServer, type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { browserFault } from "../http/browser-guard.ts";
import {
  closeServer,
  type Endpoint,
  type HttpHandler,
  httpListener,
  json,
  listen,
} from "../http/http-endpoint.ts";
import { isRecord } from "../http/json.ts";
import { type Connection, openConnection } from "./connections.ts";
import { FrameReader } from "./frame-reader.ts";
import {
  type ConnectionFacts,
  connectEvent,
  disconnectEvent,
  messageEvent,
  newConnectionId,
  type WebSocketEvent,
} from "./websocket-events.ts";
import { apiGatewayLimits, type WebSocketLimits } from "./websocket-limits.ts";

export interface WebSocketApiOptions {
  /** Runs the function behind the routes $connect, $default and $disconnect. */
  invoke: (event: WebSocketEvent) => Promise<unknown>;
  /** Stage and id of the API, as in events and ARNs. */
  stage: string;
  apiId: string;
  port?: number;
  /** Names of this endpoint's hosts besides those of this machine. */
  hosts?: readonly string[];
  limits?: Partial<WebSocketLimits>;
  /** Whether the event `$disconnect` of a connection is lost: API Gateway delivers it by best effort. */
  losesDisconnect?: (connectionId: string) => boolean;
  /** Answers the requests that open no connection. Default: 426 Upgrade Required. */
  answerHttp?: (connections: ReadonlyMap<string, Connection>) => HttpHandler;
  /** Called with the errors of failed invocations and other errors. */
  onError?: (error: unknown) => void;
}

/** A running WebSocket API. */
export interface WebSocketEndpoint extends Endpoint {
  /** The open connections by their id. */
  connections: ReadonlyMap<string, Connection>;
}

/** Answers a request that opens no connection. */
export const upgradeRequired: HttpHandler = async () => json(426, { message: "Upgrade Required" });

type Outcome = { status: number } | "failed" | "timed out";

/**
 * An API Gateway WebSocket API. The function is invoked for each
 * message immediately, also concurrently for one connection. The function's result is not sent to the client.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api.html
 * @throws PortInUseError
 */
export async function startWebSocketApi(options: WebSocketApiOptions): Promise<WebSocketEndpoint> {
  const connections = new Map<string, Connection>();
  const answerHttp = options.answerHttp?.(connections) ?? upgradeRequired;
  const server = createServer(
    httpListener({
      handle: async (request) => {
        const fault = browserFault(request.headers, { hosts: options.hosts });
        return fault === undefined ? answerHttp(request) : json(403, { message: fault });
      },
      maxBodyBytes: 1024 * 1024,
      onError: options.onError,
    }),
  );
  const port = await listen(server, options.port ?? 0);
  const limits = { ...apiGatewayLimits, ...options.limits };
  const api = new WebSocketApi({ ...options, limits }, connections, `127.0.0.1:${port}`);
  server.on("upgrade", (request, socket, head) => {
    api.upgrade(request, socket, head).catch((error: unknown) => {
      options.onError?.(error);
      socket.destroy();
    });
  });
  return {
    url: `ws://127.0.0.1:${port}`,
    port,
    connections,
    async close() {
      await api.close();
      await closeServer(server);
    },
  };
}

class WebSocketApi {
  private readonly options: WebSocketApiOptions & { limits: WebSocketLimits };
  private readonly connections: Map<string, Connection>;
  private readonly domainName: string;
  private readonly sockets: WebSocketServer;
  /** $disconnect events under way. */
  private readonly disconnecting = new Set<Promise<unknown>>();

  constructor(
    options: WebSocketApiOptions & { limits: WebSocketLimits },
    connections: Map<string, Connection>,
    domainName: string,
  ) {
    this.options = options;
    this.connections = connections;
    this.domainName = domainName;
    this.sockets = new WebSocketServer({
      noServer: true,
      maxPayload: options.limits.messageBytes,
      // The $connect route would select a subprotocol; this application selects none.
      handleProtocols: () => false,
    });
  }

  /** Runs $connect, then opens the connection or refuses with the status that the route answered. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    if (!isHandshake(request)) return refuse(socket, 400);
    // The route `$connect` decides on the origin.
    if (browserFault(request.headers, { hosts: this.options.hosts, pages: true })) return refuse(socket, 403);
    const facts = this.factsOf(request);
    const event = connectEvent(facts, request);
    const outcome = await this.run(event);
    const status = outcome === "failed" ? 502 : outcome === "timed out" ? 504 : outcome.status;
    if (status < 200 || status > 299) return refuse(socket, status, event);
    this.accept(facts, request, socket, head);
  }

  /** Closes all connections and waits for their $disconnect invocations, at most 2 seconds. */
  async close(): Promise<void> {
    for (const connection of this.connections.values()) connection.close(1001, "Going away");
    const deadline = Date.now() + 2000;
    while ((this.connections.size > 0 || this.disconnecting.size > 0) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const socket of this.sockets.clients) socket.terminate();
  }

  private factsOf(request: IncomingMessage): ConnectionFacts {
    return {
      connectionId: newConnectionId(),
      connectedAt: Date.now(),
      sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
      userAgent: request.headers["user-agent"],
      domainName: this.domainName,
      stage: this.options.stage,
      apiId: this.options.apiId,
    };
  }

  private accept(facts: ConnectionFacts, request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const { limits } = this.options;
    const frames = new FrameReader(limits);
    let broken = false;
    let opened: WebSocket | undefined;
    // Registered before the socket's own listener, so that a violated limit is detected before the message
    // event.
    stream.on("data", (chunk: Buffer) => {
      if (broken) return;
      const violation = frames.read(chunk);
      broken = violation !== undefined;
      if (violation) opened?.close(violation.code, violation.reason);
    });
    this.sockets.handleUpgrade(request, stream, head, (socket) => {
      opened = socket;
      // A client that breaks the protocol is closed by the socket itself.
      socket.on("error", () => undefined);
      const connection = openConnection(facts, socket, limits, (code, reason) =>
        this.closed(facts, code, reason),
      );
      this.connections.set(facts.connectionId, connection);
      socket.on("message", (data, isBinary) => {
        if (!broken && !isBinary && socket.readyState === socket.OPEN)
          void this.message(connection, String(data));
      });
    });
    // The client left while $connect ran.
    if (opened === undefined) this.closed(facts, 1006, "");
  }

  private async message(connection: Connection, body: string): Promise<void> {
    const event = messageEvent(connection, body);
    const outcome = await this.run(event);
    if (typeof outcome === "object") return;
    const { connectionId, requestId } = event.requestContext;
    const message = outcome === "failed" ? "Internal server error" : "Endpoint request timed out";
    connection.send(Buffer.from(JSON.stringify({ message, connectionId, requestId })));
  }

  private closed(facts: ConnectionFacts, code: number, reason: string): void {
    this.connections.delete(facts.connectionId);
    if (this.options.losesDisconnect?.(facts.connectionId)) return;
    const told = this.run(disconnectEvent(facts, code, reason)).finally(() =>
      this.disconnecting.delete(told),
    );
    this.disconnecting.add(told);
  }

  /** Invokes the function. As in API Gateway, a result without a status code is a failure. */
  private async run(event: WebSocketEvent): Promise<Outcome> {
    const { invoke, limits, onError } = this.options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"timed out">((resolve) => {
      timer = setTimeout(resolve, limits.integrationMs, "timed out");
    });
    const answered = invoke(event).then(
      (answer): Outcome => {
        if (isRecord(answer) && typeof answer.statusCode === "number") return { status: answer.statusCode };
        onError?.(new Error(`${event.requestContext.routeKey} was answered without a statusCode`));
        return "failed";
      },
      (error): Outcome => {
        onError?.(error);
        return "failed";
      },
    );
    return Promise.race([answered, late]).finally(() => clearTimeout(timer));
  }
}

function isHandshake({ method, headers }: IncomingMessage): boolean {
  const isWebSocket =
    headers.upgrade?.toLowerCase() === "websocket" && headers["sec-websocket-version"] === "13";
  return method === "GET" && isWebSocket && /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "");
}

function refuse(socket: Duplex, status: number, event?: WebSocketEvent): void {
  const { connectionId = null, requestId = null } = event?.requestContext ?? {};
  const text = STATUS_CODES[status] ?? "Error";
  const body = JSON.stringify({ message: text, connectionId, requestId });
  const head = [
    `HTTP/1.1 ${status} ${text}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
