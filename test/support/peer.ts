import { once } from "node:events";
import WebSocket from "ws";
import type { EventFrame, ResponseFrame } from "../../shared/protocol/frames.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { Results } from "../../shared/protocol/results.ts";

export interface Answer {
  ok: boolean;
  payload: Record<string, unknown>;
  error: { code: number; message: string; retryable?: boolean };
}

/** A raw peer for tests: it sends frames unchanged, and records everything that it receives. */
export class Peer {
  readonly events: EventFrame[] = [];
  readonly responses: ResponseFrame[] = [];
  /** Messages that are not frames of the protocol, such as API Gateway's own errors. */
  readonly others: unknown[] = [];
  closed: { code: number; reason: string } | undefined;
  private nextId = 1;

  readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => this.receive(String(data)));
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.look();
    });
    socket.on("error", () => {});
  }

  /** Opens a socket, as a page if there is an `origin`. Rejects with `HTTP {status}` when the upgrade is refused. */
  static async open(url: string, token?: string, origin?: string): Promise<Peer> {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(origin === undefined ? {} : { origin }),
    };
    const socket = new WebSocket(url, { headers });
    const refused = new Promise<never>((_, reject) => {
      socket.once("unexpected-response", (_request, response) =>
        reject(new Error(`HTTP ${response.statusCode}`)),
      );
      socket.once("error", reject);
    });
    const peer = new Peer(socket);
    await Promise.race([once(socket, "open"), refused]);
    return peer;
  }

  private receive(text: string): void {
    const frame = JSON.parse(text);
    if (frame.type === "res") this.responses.push(frame);
    else if (frame.type === "evt") this.events.push(frame);
    else this.others.push(frame);
    if (frame.type === "evt") for (const listener of this.listeners) listener(frame);
    this.look();
  }

  private readonly listeners = new Set<(event: EventFrame) => void>();
  /** Callbacks of waiting callers, to check the received messages. */
  private readonly looks = new Set<() => void>();

  private look(): void {
    for (const look of this.looks) look();
  }

  /**
   * Returns the result of `find` on the received messages once there is one. Checks after each frame and when the
   * socket closes.
   * @throws Error with `what` after `deadlineMs`
   */
  seen<T>(find: () => T | undefined, what: string, deadlineMs = 60_000): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.looks.delete(look);
        clearTimeout(timer);
      };
      const look = () => {
        const found = find();
        if (found === undefined) return;
        end();
        resolve(found);
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(`timed out waiting until ${what}`));
      }, deadlineMs);
      this.looks.add(look);
      look();
    });
  }

  /** Returns a function that removes the listener. */
  onEvent(listener: (event: EventFrame) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Sends a request and waits for its response. */
  async request(method: string, params?: unknown, deadline?: number): Promise<Answer> {
    const id = `t${this.nextId++}`;
    this.send({ type: "req", id, method, params });
    return this.response(id, deadline);
  }

  /** The payload of a request that must succeed. */
  async call<T = Record<string, unknown>>(method: string, params?: unknown, deadline?: number): Promise<T> {
    const answer = await this.request(method, params, deadline);
    if (!answer.ok) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
    return answer.payload as T;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  async response(id: string, deadline?: number): Promise<Answer> {
    const find = () => this.responses.find((response) => response.id === id);
    return (await this.seen(find, `there is a response to ${id}`, deadline)) as unknown as Answer;
  }

  /** Waits for a matching event. Events received earlier count too. */
  async event(
    fits: (payload: Record<string, unknown>, event: string) => boolean,
    what: string,
    deadline?: number,
  ) {
    const find = () => this.events.find((one) => fits(one.payload as Record<string, unknown>, one.event));
    return (await this.seen(find, what, deadline)).payload as Record<string, unknown>;
  }

  /** Waits for the end of a run: its final or error event. */
  async ended(runId: string, deadline?: number): Promise<Record<string, unknown>> {
    const isEnd = (state: unknown) => state === "final" || state === "error";
    return this.event(
      (payload, event) => event === "chat" && payload.runId === runId && isEnd(payload.state),
      `run ${runId} ends`,
      deadline,
    );
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.socket.close();
    await this.seen(() => this.closed, "the socket is closed");
  }
}

export const clientParams = (id: string, token?: string) => ({
  minProtocol: 1,
  maxProtocol: 1,
  client: { id, version: "0", platform: "test", mode: "client" },
  ...(token === undefined ? {} : { auth: { token } }),
});

/** The tools of a test's node, with their handlers. A handler that returns `undefined` leaves the call open. */
export type NodeTools = Record<
  string,
  (args: Record<string, unknown>, callId: string) => unknown | Promise<unknown>
>;

export const nodeParams = (id: string, tools: readonly string[], token?: string) => ({
  minProtocol: 1,
  client: { id, version: "0", platform: "test", mode: "node" },
  tools: tools.map((name) => ({ name, description: `test tool ${name}`, inputSchema: { type: "object" } })),
  nodeRuntime: {
    hostRole: "execution" as const,
    hostCapabilities: ["filesystem.list", "filesystem.read", "filesystem.write", "shell.exec"],
    toolCapabilities: Object.fromEntries(tools.map((name) => [name, ["shell.exec"]])),
    hostOs: "linux",
  },
  ...(token === undefined ? {} : { auth: { token } }),
});

/** Connects a client. */
export async function openClient(url: string, token: string, id = "test-client"): Promise<Peer> {
  const peer = await Peer.open(url, token);
  await peer.call("connect", clientParams(id));
  return peer;
}

/** Connects a node that answers `tool.invoke` with its tools. `calls` records every invocation. */
export async function openNode(
  url: string,
  token: string,
  id: string,
  tools: NodeTools,
  capabilities: readonly string[] = [],
): Promise<Peer & { calls: { callId: string; tool: string; args: Record<string, unknown> }[] }> {
  const peer = await Peer.open(url, token);
  const calls: { callId: string; tool: string; args: Record<string, unknown> }[] = [];
  peer.onEvent(async ({ event, payload }) => {
    if (event !== "tool.invoke") return;
    const call = payload as { callId: string; tool: string; args: Record<string, unknown> };
    calls.push(call);
    const result = await tools[call.tool]?.(call.args, call.callId);
    if (result !== undefined && !peer.closed)
      await peer.request("tool.result", { callId: call.callId, result });
  });
  await peer.call("connect", { ...nodeParams(id, Object.keys(tools)), capabilities });
  return Object.assign(peer, { calls });
}

/** The answer to `session.preview`. */
export type Preview = Results["session.preview"] & Record<string, unknown>;

/** The messages of `session.preview` as they are stored, without their numbers. */
export function unnumbered(messages: Preview["messages"]): Message[] {
  return messages.map(({ seq: _, ...message }) => message as Message);
}
