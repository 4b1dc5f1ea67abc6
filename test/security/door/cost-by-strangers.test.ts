import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSocketHandler } from "../../../functions/socket/socket-handler.ts";
import { createTimerHandler } from "../../../functions/timer/timer-handler.ts";
import { createWebhookHandler } from "../../../functions/webhook/webhook-handler.ts";
import { openConfiguration } from "../../../shared/configuration/store.ts";
import { readPeer } from "../../../shared/peers/registry.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import type { Frame } from "../../../shared/protocol/frames.ts";
import type { Table, TimerEvent, World } from "../../../shared/world/world.ts";
import { clientParams } from "../../support/peer.ts";
import { type State, startState } from "../../support/state.ts";

const eventTypes: Record<string, string> = { $connect: "CONNECT", $disconnect: "DISCONNECT" };

let state: State;
let clock: number;
const now = () => clock;

beforeEach(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  state = await startState();
  clock = Date.now();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await state.close();
});

/** The socket and timer functions with a world that records their calls. */
function startSockets({ requiresHeader = false } = {}) {
  const table = noted(state.table);
  const schedules = new Map<string, { at: number; event: TimerEvent }>();
  let asked = 0;
  const posted: Frame[] = [];
  const closed: string[] = [];
  const world = {
    ...{
      table,
      requiresHeader,
      now,
      pause: async () => true,
      bucket: state.bucket,
      secrets: state.openSecrets("/gsv/test"),
    },
    sockets: {
      async post(_id: string, frame: Frame) {
        posted.push(frame);
        return "sent" as const;
      },
      close: async (id: string) => void closed.push(id),
    },
    schedules: {
      once: async (name: string, at: number, event: TimerEvent) => {
        asked++;
        if (!schedules.has(name)) schedules.set(name, { at, event });
      },
    },
    wake: async () => {},
    gatewayUrl: "wss://gateway.example/ws",
    presigner: { get: async () => "", put: async () => "" },
  } satisfies World;
  let socket = createSocketHandler(world);
  const timer = createTimerHandler(world);
  const context = { awsRequestId: "r" } as never;
  const send = async (routeKey: string, connectionId: string, openedAt: number, more: object = {}) => {
    const event = {
      requestContext: {
        routeKey,
        eventType: eventTypes[routeKey] ?? "MESSAGE",
        connectionId,
        connectedAt: openedAt,
      },
      ...more,
    };
    return ((await socket(event as never, context)) as { statusCode: number }).statusCode;
  };
  return {
    ...{ table, schedules, posted, closed, world },
    connect: (id: string, headers = {}) => send("$connect", id, clock, { headers }),
    frame: (id: string, openedAt: number, frame: unknown) =>
      send("$default", id, openedAt, { body: typeof frame === "string" ? frame : JSON.stringify(frame) }),
    disconnect: (id: string, openedAt: number) => send("$disconnect", id, openedAt),
    /** How many schedules were requested. */
    asked: () => asked,
    /** Replaces the instance of the socket function that answers. */
    nextInstance() {
      socket = createSocketHandler(world);
    },
    /** Fires the schedules that are due. */
    async fire() {
      for (const [name, { at, event }] of schedules)
        if (at <= clock) {
          schedules.delete(name);
          await timer(event as never, context);
        }
    },
  };
}

const connectFrame = (token: string) => ({
  ...{ type: "req", id: "c", method: "connect" },
  params: clientParams("laptop", token),
});
const newToken = async () => (await createToken(state.table, { name: "t", scopes: ["client"] }, clock)).token;

describe("a stranger's socket", () => {
  it.each([
    ["requests", { type: "req", id: "1", method: "chat.send", params: {} }],
    ["text that is no JSON", "hello"],
    ["frames without an id", { type: "req" }],
    ["events", { type: "evt", event: "chat", payload: {} }],
  ])("is closed after three frames: %s", async (_name, frame) => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    for (let count = 0; count < 2; count++) await on.frame("a", openedAt, frame);
    expect(on.closed).toEqual([]);
    await on.frame("a", openedAt, frame);
    expect(on.closed).toEqual(["a"]);
    expect(on.posted.length).toBeLessThanOrEqual(3);
  });

  it("is closed after three frames even with a valid token in its header, until it connects", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a", { authorization: `Bearer ${await newToken()}` });
    for (let count = 0; count < 3; count++) await on.frame("a", openedAt, "hello");
    expect(on.closed).toEqual(["a"]);
  });

  it("is closed by its first frame after ten seconds, without an answer", async () => {
    const on = startSockets();
    const openedAt = clock;
    const token = await newToken();
    await on.connect("a");
    clock += 10_001;
    await on.frame("a", openedAt, connectFrame(token));
    expect([on.closed, on.posted]).toEqual([["a"], []]);
  });

  it("is closed by the timer when it stays silent, with one schedule per ten seconds", async () => {
    const on = startSockets();
    clock = Math.ceil(clock / 10_000) * 10_000;
    const ids = Array.from({ length: 50 }, (_, index) => `s-${index}`);
    for (const id of ids.slice(0, 25)) await on.connect(id);
    on.nextInstance();
    for (const id of ids.slice(25)) await on.connect(id);
    expect([on.asked(), on.schedules.size]).toEqual([2, 1]);
    clock += 20_000;
    await on.fire();
    expect(on.closed.sort()).toEqual(ids.sort());
  });

  it("costs one write to open, one to close, and no read", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    await on.disconnect("a", openedAt);
    expect(on.table.calls).toEqual(["put", "delete"]);
  });

  it("leaves no record when it closes", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    await on.disconnect("a", openedAt);
    clock += 20_000;
    await on.fire();
    expect(on.closed).toEqual([]);
  });

  it("is refused without a header if the stage requires one, before any read", async () => {
    const on = startSockets({ requiresHeader: true });
    expect(await on.connect("a")).toBe(401);
    expect([on.table.calls, on.schedules.size]).toEqual([[], 0]);
    expect(await on.connect("b", { Authorization: `Bearer ${await newToken()}` })).toBe(200);
  });
});

describe("a socket that sends its token in the connect frame", () => {
  it("stays open after three frames and after the timer", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    for (const frame of ["hello", "hello", connectFrame(await newToken())])
      await on.frame("a", openedAt, frame);
    expect(on.posted.at(-1)).toMatchObject({ id: "c", ok: true });
    for (let count = 0; count < 4; count++)
      await on.frame("a", openedAt, { type: "req", id: "1", method: "nothing" });
    clock += 60_000;
    await on.fire();
    expect(on.closed).toEqual([]);
    expect(await readPeer(state.table, "client", "laptop", clock)).toMatchObject({ connectionId: "a" });
    await on.disconnect("a", openedAt);
    expect(await readPeer(state.table, "client", "laptop", clock)).toBeUndefined();
  });

  it("connects once if it sends two connect frames at once", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    const frame = connectFrame(await newToken());
    await Promise.all([on.frame("a", openedAt, frame), on.frame("a", openedAt, frame)]);
    expect(on.posted.map((answer) => "ok" in answer && answer.ok).sort()).toEqual([false, true]);
    expect(await readPeer(state.table, "client", "laptop", clock)).toMatchObject({ connectionId: "a" });
    expect(on.closed).toEqual([]);
  });

  it("is closed by its next frame once its record is gone", async () => {
    const on = startSockets();
    await on.frame("unknown", clock, connectFrame(await newToken()));
    expect([on.closed, on.posted]).toEqual([["unknown"], []]);
  });

  it("does not connect after the socket has closed", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    await on.disconnect("a", openedAt);
    await on.frame("a", openedAt, connectFrame(await newToken()));
    expect([on.closed, on.posted]).toEqual([["a"], []]);
    expect(await readPeer(state.table, "client", "laptop", clock)).toBeUndefined();
  });

  it("is closed at once when the token is wrong", async () => {
    const on = startSockets();
    const openedAt = clock;
    await on.connect("a");
    await on.frame("a", openedAt, connectFrame("gsv_wrong"));
    expect(on.posted.at(-1)).toMatchObject({ ok: false, error: { code: 401 } });
    expect(on.closed).toEqual(["a"]);
  });
});

/** A table that records its calls by name. */
function noted(table: Table): Table & { calls: string[] } {
  const calls: string[] = [];
  const note = <A extends unknown[], T>(name: string, call: (...args: A) => T) => {
    return (...args: A): T => {
      calls.push(name);
      return call(...args);
    };
  };
  const { get, put, update, query, queryIndex } = table;
  return {
    calls,
    get: note("get", get),
    put: note("put", put),
    update: note("update", update),
    delete: note("delete", table.delete),
    query: note("query", query),
    queryIndex: note("queryIndex", queryIndex),
  };
}

describe("a stranger's call of the webhook", () => {
  const start = () => {
    const table = noted(state.table);
    const secrets = state.openSecrets("/gsv/test");
    const handler = createWebhookHandler({ table, secrets, wake: async () => {}, now });
    const call = async (rawPath: string): Promise<number> => {
      const event = { rawPath, headers: {}, requestContext: { http: { method: "POST" } }, body: "{}" };
      const answer = await handler(event as never, { awsRequestId: "r" } as never);
      return (answer as { statusCode: number }).statusCode;
    };
    return { table, secrets, call };
  };

  it("reads the table at most once in 30 s for one unknown account", async () => {
    const { table, call } = start();
    for (let second = 0; second < 30; second++) {
      expect(await call("/telegram/default")).toBe(503);
      clock += 1000;
    }
    // The first request of a function always reads the configuration.
    expect(table.calls).toEqual(["get", "get"]);
    clock += 2000;
    await call("/telegram/default");
    expect(table.calls).toEqual(["get", "get", "get"]);
  });

  it("reads the table at most 20 times in 30 s, however many accounts it names", async () => {
    const { table, call } = start();
    for (let count = 0; count < 100; count++) {
      expect(await call(`/telegram/a-${count}`)).toBe(503);
      clock += 250;
    }
    expect(table.calls).toHaveLength(1 + 20);
  });

  it("does not delay accounts that are added in sequence", async () => {
    const { secrets, call } = start();
    const configuration = openConfiguration(state.table, secrets);
    for (const account of ["first", "second", "third"]) {
      await configuration.set(`channels.telegram.accounts.${account}`, {
        botToken: "1:token",
        webhookSecret: "secret",
      });
      // The account is known at once, so a secret is required.
      expect(await call(`/telegram/${account}`)).toBe(401);
    }
  });

  it("reads nothing for a path without a channel", async () => {
    const { table, call } = start();
    for (const path of ["/", "/.env", "/pigeon/default", "/telegram/a/b"]) expect(await call(path)).toBe(404);
    expect(table.calls).toEqual([]);
  });

  it("reads the table for a stopped account as rarely as for a running one", async () => {
    const { table, secrets, call } = start();
    const account = { botToken: "1:token", webhookSecret: "secret", enabled: false };
    await openConfiguration(state.table, secrets).set("channels.telegram.accounts.default", account);
    for (let second = 0; second < 30; second++) {
      expect(await call("/telegram/default")).toBe(401);
      clock += 1000;
    }
    // Every 5 s when the configuration expires, and once after the first wrong secret …
    const repeats = 3;
    expect(table.calls.length).toBeLessThanOrEqual(6 + 1 + repeats);
  });

  it("delays a newly added account by at most 30 s", async () => {
    const { secrets, call } = start();
    await call("/telegram/default");
    const account = { botToken: "1:token", webhookSecret: "secret" };
    await openConfiguration(state.table, secrets).set("channels.telegram.accounts.default", account);
    clock += 30_000;
    // The account is known now, so a secret is required.
    expect(await call("/telegram/default")).toBe(401);
  });
});
