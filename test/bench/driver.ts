import { randomUUID } from "node:crypto";
import { once } from "node:events";
import WebSocket from "ws";
import type { EventFrame, ResponseFrame } from "../../shared/protocol/frames.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { type DriverMarks, now, type TurnKind } from "./marks.ts";

/** A gateway's address, and a token with the scopes client, node and admin. */
export interface Address {
  url: string;
  token: string;
}

/** A turn without an answer within this time has failed. */
const turnTimeoutMs = 60_000;

interface Waiting {
  mark: DriverMarks;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * The peers of a bench: one client socket for all sessions, and a node on another. It does as little work as possible,
 * because it shares the machine with the measured process.
 */
export class Driver {
  readonly #client: WebSocket;
  readonly #sockets: WebSocket[];
  readonly #turns = new Map<string, Waiting>();
  readonly #requests = new Map<string, (response: ResponseFrame) => void>();
  #closing = false;

  private constructor(client: WebSocket) {
    this.#client = client;
    this.#sockets = [client];
    client.on("message", (data) => this.#receive(JSON.parse(String(data))));
    client.on("close", () => {
      for (const { reject } of this.#turns.values()) reject(new Error("the gateway closed the connection"));
    });
    client.on("error", () => {});
  }

  /** Opens the client socket without `connect`, as the floor requires. */
  static async open(url: string, token?: string): Promise<Driver> {
    return new Driver(await openSocket(url, token));
  }

  /** Connects as a client. Resolves when the gateway has answered `connect`. */
  static async connect({ url, token }: Address): Promise<Driver> {
    const driver = await Driver.open(url, token);
    await driver.request("connect", clientParams("bench"));
    return driver;
  }

  /** Connects the node `laptop`, whose tool `Glob` answers after `toolMs` milliseconds. */
  async lendNode({ url, token }: Address, toolMs = 0): Promise<void> {
    const socket = await openSocket(url, token);
    this.#sockets.push(socket);
    const connected = once(socket, "message");
    socket.on("message", (data) => {
      const { event, payload } = JSON.parse(String(data)) as EventFrame;
      if (event !== "tool.invoke") return;
      const { callId, args } = payload as { callId: string; args: { run: string } };
      const answer = () => {
        const waiting = this.#turns.get(args.run);
        if (waiting !== undefined) waiting.mark.result = now();
        const params = { callId, result: "done" };
        socket.send(JSON.stringify({ type: "req", id: callId, method: "tool.result", params }));
      };
      if (toolMs > 0) setTimeout(answer, toolMs);
      else answer();
    });
    send(socket, "connect", "connect", nodeParams("laptop", ["Glob"]));
    await connected;
  }

  /** The payload of a request that must succeed. */
  async request(method: string, params: unknown): Promise<unknown> {
    const id = `q${count++}`;
    const answered = new Promise<ResponseFrame>((resolve) => this.#requests.set(id, resolve));
    send(this.#client, id, method, params);
    const { ok, payload, error } = await answered;
    if (!ok) throw new Error(`${method}: ${error?.code} ${error?.message}`);
    return payload;
  }

  /** Configures the gateway to use the model server at this address, which ends in /v1, with its key. */
  async useModel(baseUrl: string, key = "key"): Promise<void> {
    const model = { provider: "openai-compatible", id: "instant", baseUrl };
    await this.request("config.set", { path: "model", value: model });
    await this.request("config.set", { path: "apiKeys.openai-compatible", value: key });
  }

  /** Sends a message and waits for the run's final answer. */
  async turn(sessionKey: string, kind: TurnKind): Promise<DriverMarks> {
    const run = randomUUID();
    const mark: DriverMarks = { run, sent: now(), final: 0 };
    const ended = new Promise<void>((resolve, reject) => this.#turns.set(run, { mark, resolve, reject }));
    const late = () => this.#turns.get(run)?.reject(new Error(`no answer in ${turnTimeoutMs / 1000} s`));
    const timer = setTimeout(late, turnTimeoutMs);
    send(this.#client, run, "chat.send", { sessionKey, message: `${kind} ${run}`, runId: run });
    try {
      await ended;
    } finally {
      clearTimeout(timer);
      this.#turns.delete(run);
    }
    return mark;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    await Promise.all(
      this.#sockets.map(async (socket) => {
        if (socket.readyState === WebSocket.CLOSED) return;
        const closed = once(socket, "close");
        socket.close();
        await closed;
      }),
    );
  }

  #receive(frame: EventFrame | ResponseFrame): void {
    if (frame.type === "res") {
      this.#requests.get(frame.id)?.(frame);
      this.#requests.delete(frame.id);
      if (!frame.ok) this.#turns.get(frame.id)?.reject(new Error(String(frame.error?.message)));
      return;
    }
    if (frame.event !== "chat") return;
    const { runId = "", state, error } = frame.payload as { runId?: string; state?: string; error?: string };
    const waiting = this.#turns.get(runId);
    if (waiting === undefined) return;
    if (state === "error") waiting.reject(new Error(`the turn failed: ${error}`));
    if (state !== "final") return;
    waiting.mark.final = now();
    waiting.resolve();
  }
}

let count = 0;

function send(socket: WebSocket, id: string, method: string, params: unknown): void {
  socket.send(JSON.stringify({ type: "req", id, method, params }));
}

async function openSocket(url: string, token: string | undefined): Promise<WebSocket> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  await once(socket, "open");
  return socket;
}
