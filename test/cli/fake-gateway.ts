import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Approval } from "../../shared/protocol/approvals.ts";
import { errorShape, PeerError } from "../../shared/protocol/errors.ts";
import type { EventName, Events } from "../../shared/protocol/events.ts";
import { errorFrame, eventFrame, okFrame, parseFrame } from "../../shared/protocol/frames.ts";
import type { AssistantMessage, ToolCallBlock } from "../../shared/protocol/messages.ts";
import { isMethod, methods, parseParams, type Scope } from "../../shared/protocol/methods.ts";
import type { HelloOk } from "../../shared/protocol/results.ts";

type Emit = <E extends EventName>(event: E, payload: Events[E]) => void;

/** One request of a client, and actions other than answering. */
export interface FakeRequest {
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the params of its method
  params: any;
  emit: Emit;
  /** Drops every connection without a close frame. */
  dropAll(): void;
}

export type FakeMethod = (request: FakeRequest) => unknown;

export interface FakeGateway {
  url: string;
  /** Every request but `connect`, in the order of arrival. */
  requests: { method: string; params: unknown }[];
  methods: Record<string, FakeMethod>;
  /** The scopes of the token, as `connect` tells them; undefined as from an earlier version. */
  scopes?: Scope[];
  /** The origin of the gateway's page. */
  page?: string;
  emit: Emit;
  dropAll(): void;
  close(): Promise<void>;
}

/** A gateway that speaks the wire protocol and answers from a table of methods; params are checked as the real one does. */
export async function startFakeGateway(
  table: Record<string, FakeMethod>,
  token = "good-token",
): Promise<FakeGateway> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  const gateway: FakeGateway = {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`,
    requests: [],
    methods: table,
    emit: (event, payload) => {
      const text = JSON.stringify(eventFrame(event, payload));
      for (const socket of server.clients) socket.send(text);
    },
    dropAll: () => {
      for (const socket of server.clients) socket.terminate();
    },
    close: () =>
      new Promise((resolve) => {
        gateway.dropAll();
        server.close(() => resolve());
      }),
  };
  server.on("connection", (socket) => {
    socket.on("message", (data) => void answer(socket, data.toString(), gateway, token));
  });
  return gateway;
}

async function answer(socket: WebSocket, text: string, gateway: FakeGateway, token: string): Promise<void> {
  const frame = parseFrame(text);
  if (frame === undefined || "malformed" in frame || frame.type !== "req") return;
  const { id, method } = frame;
  try {
    if (!isMethod(method)) throw new PeerError(404, `unknown method: ${method}`);
    const params = parseParams(method, frame.params);
    if (method === "connect") {
      const { auth } = params as { auth?: { token?: string } };
      if (auth?.token !== token) throw new PeerError(401, "bad token");
      const hello: HelloOk = {
        type: "hello-ok",
        protocol: 1,
        server: { version: "9.9.9", connectionId: "c1" },
        features: { methods, events: ["chat"] },
        ...(gateway.scopes ? { scopes: gateway.scopes } : {}),
        ...(gateway.page ? { page: gateway.page } : {}),
      };
      socket.send(JSON.stringify(okFrame<"connect">(id, hello)));
      return;
    }
    gateway.requests.push({ method, params });
    const handler = gateway.methods[method];
    if (handler === undefined) throw new PeerError(404, `not in this test: ${method}`);
    const emit: Emit = (event, payload) => socket.send(JSON.stringify(eventFrame(event, payload)));
    const payload = await handler({ params, emit, dropAll: gateway.dropAll });
    socket.send(JSON.stringify({ type: "res", id, ok: true, payload }));
  } catch (error) {
    socket.send(JSON.stringify(errorFrame(id, errorShape(error))));
  }
}

/** An assistant message with text and, where given, tool calls. */
export function assistant(text: string, calls: Omit<ToolCallBlock, "type">[] = []): AssistantMessage {
  return {
    role: "assistant",
    content: [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...calls.map((call) => ({ type: "toolCall" as const, ...call })),
    ],
    timestamp: 1,
  };
}

/** A request that waits for the owner. */
export const approval: Approval = {
  ...{ id: "c5qswrjuz3w474cd", kind: "tool", state: "open", hash: "0".repeat(64), callId: "c" },
  ...{ sessionKey: "agent:main:main", runId: "r", step: 0, tool: "pi__Bash", node: "pi" },
  ...{ args: { command: "git push \u202Ex" }, why: "mode ask", origins: [], createdAt: 1, until: 2 },
};
