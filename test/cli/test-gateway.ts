import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export interface ReceivedRequest {
  id: string;
  method: string;
  params: Record<string, unknown>;
}

/** The gateway's answer: a payload or a refusal. `"silence"`: no answer. */
export type Answer = { payload: unknown } | { error: Record<string, unknown> } | "silence";

export const hello = {
  type: "hello-ok",
  protocol: 1,
  server: { version: "test", connectionId: "c1" },
  features: { methods: [], events: [] },
};

/** A gateway of frames for one test: gives the test's answers, and records the received frames. */
export interface TestGateway {
  url: string;
  port: number;
  requests: ReceivedRequest[];
  upgrades: IncomingMessage[];
  sockets: WebSocket[];
  /** Replaces the answers to requests. Undefined falls back to `{}`, and to hello-ok for connect. */
  answer: (request: ReceivedRequest) => Answer | undefined;
  /** HTTP status to answer upgrades with, instead of accepting them. */
  refuseWith: number | undefined;
  sendEvent(event: string, payload: unknown): void;
  sendText(text: string): void;
  of(method: string): ReceivedRequest[];
  stop(): Promise<void>;
}

export async function startTestGateway(
  options: { port?: number; autoPong?: boolean } = {},
): Promise<TestGateway> {
  const http = createServer();
  const server = new WebSocketServer({ noServer: true, autoPong: options.autoPong ?? true });
  const current = (): WebSocket => gateway.sockets.at(-1) as WebSocket;
  const gateway: TestGateway = {
    url: "",
    port: 0,
    requests: [],
    upgrades: [],
    sockets: [],
    answer: () => undefined,
    refuseWith: undefined,
    sendEvent: (event, payload) => current().send(JSON.stringify({ type: "evt", event, payload })),
    sendText: (text) => current().send(text),
    of: (method) => gateway.requests.filter((request) => request.method === method),
    stop: async () => {
      for (const socket of gateway.sockets) socket.terminate();
      http.close();
      http.closeAllConnections();
      await once(http, "close");
    },
  };
  http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    gateway.upgrades.push(request);
    if (gateway.refuseWith !== undefined) {
      socket.end(`HTTP/1.1 ${gateway.refuseWith} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      return;
    }
    server.handleUpgrade(request, socket, head, (ws) => accept(gateway, ws));
  });
  http.listen(options.port ?? 0, "127.0.0.1");
  await once(http, "listening");
  gateway.port = (http.address() as AddressInfo).port;
  gateway.url = `ws://127.0.0.1:${gateway.port}`;
  return gateway;
}

function accept(gateway: TestGateway, ws: WebSocket): void {
  gateway.sockets.push(ws);
  ws.on("error", () => {});
  ws.on("message", (data) => {
    const request = JSON.parse(data.toString()) as ReceivedRequest;
    gateway.requests.push(request);
    const answer = gateway.answer(request) ?? { payload: request.method === "connect" ? hello : {} };
    if (answer === "silence") return;
    ws.send(JSON.stringify({ type: "res", id: request.id, ok: "payload" in answer, ...answer }));
  });
}
