import type { Context } from "aws-lambda";
import { createSocketHandler } from "../../functions/socket/socket-handler.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { EventFrame, Frame, ResponseFrame } from "../../shared/protocol/frames.ts";
import type { Method, Scope } from "../../shared/protocol/methods.ts";
import type { Sockets, Table, TimerEvent, World } from "../../shared/world/world.ts";
import type { State } from "./state.ts";

/** An instance of the socket function with its own caches. */
export interface SocketFunction {
  /** The route `$connect`. @returns the status of the upgrade */
  open(connectionId: string, token?: string, origin?: string): Promise<number>;
  /** The route `$disconnect`. */
  end(connectionId: string): Promise<void>;
  /** Sends one request. @returns its response; undefined if none was sent */
  request(connectionId: string, method: Method, params?: object): Promise<ResponseFrame | undefined>;
}

/** The socket function with the local table and sockets in memory: no network and no waiting. */
export interface SocketWorld {
  /** The dependencies of the functions. */
  outside: World;
  sockets: Sockets;
  /** The frames that reached each socket. */
  posted: ReadonlyMap<string, readonly Frame[]>;
  /** Sockets that cannot be closed: the attempt is lost "silently", or fails "with an error". */
  unclosable: Map<string, "silently" | "with an error">;
  /** Created schedules; `refuse` makes the next ones fail. */
  schedules: { made: { name: string; at: number; event: TimerEvent }[]; refuse: boolean };
  /** How far the clock is ahead, in milliseconds. */
  clock: { later: number };
  /** What happens while a function waits. */
  meanwhile: { act(): Promise<unknown> };
  now(): number;
  /** Starts a cold instance. @param table replaces the world's own, as do the fields of `other` */
  start(table?: Table, other?: Partial<World>): SocketFunction;
  token(scopes: readonly Scope[]): Promise<{ id: string; token: string }>;
  isClosed(connectionId: string): boolean;
  /** The events that a socket received, except for the notice of its closing. */
  events(connectionId: string): EventFrame[];
}

let named = 0;

export function openSocketWorld(state: State): SocketWorld {
  const posted = new Map<string, Frame[]>();
  const closed = new Set<string>();
  const unclosable: SocketWorld["unclosable"] = new Map();
  const schedules: SocketWorld["schedules"] = { made: [], refuse: false };
  const clock = { later: 0 };
  const meanwhile: SocketWorld["meanwhile"] = { act: async () => {} };
  const now = () => Date.now() + clock.later;
  const sockets: Sockets = {
    async post(connectionId, frame) {
      if (closed.has(connectionId)) return "gone";
      posted.set(connectionId, [...(posted.get(connectionId) ?? []), structuredClone(frame)]);
      return "sent";
    },
    async close(connectionId) {
      const loss = unclosable.get(connectionId);
      if (loss === "with an error") throw new Error("API Gateway does not answer");
      if (loss === undefined) closed.add(connectionId);
    },
  };
  const world: World = {
    table: state.table,
    bucket: state.bucket,
    gatewayUrl: "wss://gateway.example/ws",
    presigner: { get: async () => "https://bucket.example", put: async () => "https://bucket.example" },
    sockets,
    schedules: {
      async once(name, at, event) {
        if (schedules.refuse) throw new Error("the scheduler does not answer");
        schedules.made.push({ name, at, event });
      },
    },
    secrets: state.openSecrets("/test"),
    wake: async () => {},
    now,
    async pause(ms) {
      await meanwhile.act();
      clock.later += ms;
      return true;
    },
  };
  return {
    outside: world,
    sockets,
    posted,
    unclosable,
    schedules,
    clock,
    meanwhile,
    now,
    start: (table = state.table, other = {}) => start({ ...world, table, ...other }, posted),
    token: (scopes) => createToken(state.table, { name: `token ${++named}`, scopes }, now()),
    isClosed: (connectionId) => closed.has(connectionId),
    events: (connectionId) =>
      (posted.get(connectionId) ?? []).filter(
        (frame): frame is EventFrame => frame.type === "evt" && frame.event !== "connection.ended",
      ),
  };
}

const eventTypes: Record<string, string> = { $connect: "CONNECT", $disconnect: "DISCONNECT" };

function start(world: World, posted: ReadonlyMap<string, readonly Frame[]>): SocketFunction {
  const handler = createSocketHandler(world);
  let requests = 0;
  const invoke = (routeKey: string, connectionId: string, rest: { body?: string; headers?: object }) => {
    const eventType = eventTypes[routeKey] ?? "MESSAGE";
    const requestContext = { routeKey, eventType, connectionId, connectedAt: world.now() };
    return handler({ requestContext, ...rest } as never, {} as Context);
  };
  return {
    async open(connectionId, token, origin) {
      const headers = {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(origin === undefined ? {} : { Origin: origin }),
      };
      return (await invoke("$connect", connectionId, { headers })).statusCode;
    },
    async end(connectionId) {
      await invoke("$disconnect", connectionId, {});
    },
    async request(connectionId, method, params) {
      const id = `${connectionId}-${++requests}-${method}`;
      await invoke("$default", connectionId, { body: JSON.stringify({ type: "req", id, method, params }) });
      const isAnswer = (frame: Frame): frame is ResponseFrame => frame.type === "res" && frame.id === id;
      return posted.get(connectionId)?.find(isAnswer);
    },
  };
}
