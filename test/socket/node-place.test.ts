import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listPeers } from "../../shared/peers/registry.ts";
import type { ResponseFrame } from "../../shared/protocol/frames.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let world: SocketWorld;
let socket: SocketFunction;
let token: string;
beforeEach(async () => {
  state = await startState();
  world = openSocketWorld(state);
  socket = world.start();
  token = (await world.token(["client", "node"])).token;
});
afterEach(() => state.close());

const runtime = {
  hostRole: "specialized",
  hostCapabilities: ["text.search"],
  toolCapabilities: { Grep: ["text.search"] },
};

/** Connects a node on a new socket as the process `instance`, which GSV's nodes do not send. */
async function node(connectionId: string, instance?: string, id = "laptop"): Promise<ResponseFrame> {
  expect(await socket.open(connectionId, token)).toBe(200);
  const client = { id, version: "0", platform: "linux", mode: "node", ...(instance ? { instance } : {}) };
  const host = { tools: [{ name: "Grep" }], nodeRuntime: runtime };
  const answer = await socket.request(connectionId, "connect", { minProtocol: 1, client, ...host });
  expect(answer).toBeDefined();
  return answer as ResponseFrame;
}

async function client(connectionId: string): Promise<void> {
  await socket.open(connectionId, token);
  const identity = { id: connectionId, version: "0", platform: "test", mode: "client" };
  expect(await socket.request(connectionId, "connect", { minProtocol: 1, client: identity })).toMatchObject({
    ok: true,
  });
}

const pings = (connectionId: string) =>
  world.events(connectionId).filter(({ event }) => event === "node.ping").length;
const present = async () =>
  (await listPeers(state.table, "node", world.now())).map(({ connectionId }) => connectionId);
const refused = (alive: boolean) => ({
  ok: false,
  error: { code: 409, retryable: true, details: { taken: true, alive, retryAfterMs: 1000 } },
});

describe("a node whose id another process uses", () => {
  it("is refused with the reason if the other process answers", async () => {
    expect(await node("first", "one")).toMatchObject({ ok: true });
    expect(await node("second", "two")).toMatchObject(refused(false));
    expect(pings("first")).toBe(1);
    expect(await socket.request("first", "node.pong", {})).toMatchObject({ ok: true, payload: { ok: true } });
    world.clock.later += 1000;
    const answer = await node("third", "two");
    expect(answer).toMatchObject(refused(true));
    expect(answer.error?.message).toMatch(
      /^a node with the id "laptop" is connected \(linux, since 2.*Z\): stop that node/,
    );
    expect(await present()).toEqual(["first"]);
    expect(world.isClosed("first")).toBe(false);
  });

  it("replaces it after five seconds if the other does not answer: its machine has lost power", async () => {
    await node("first", "one");
    expect(await node("second", "two")).toMatchObject(refused(false));
    world.clock.later += 4000;
    expect(await node("third", "two")).toMatchObject(refused(false));
    world.clock.later += 1001;
    expect(await node("fourth", "two")).toMatchObject({ ok: true });
    expect(pings("first")).toBe(1);
    expect(await present()).toEqual(["fourth"]);
  });

  it("replaces it at once if the other's socket is gone", async () => {
    await node("first", "one");
    await world.sockets.close("first");
    expect(await node("second", "two")).toMatchObject({ ok: true });
  });

  it("pings the other again if its last answer is ten seconds old, and replaces it if there is no answer", async () => {
    await node("first", "one");
    await node("second", "two");
    await socket.request("first", "node.pong", {});
    world.clock.later += 9000;
    expect(await node("third", "two")).toMatchObject(refused(true));
    world.clock.later += 1001;
    expect(await node("third", "two")).toMatchObject(refused(false));
    expect(pings("first")).toBe(2);
    world.clock.later += 5000;
    expect(await node("fourth", "two")).toMatchObject({ ok: true });
  });

  it("is refused because of an answer that was too late for another attempt", async () => {
    await node("first", "one");
    await node("second", "two");
    world.clock.later += 60_000;
    await socket.request("first", "node.pong", {});
    world.clock.later += 60_000;
    expect(await node("third", "two")).toMatchObject(refused(false));
    expect(await present()).toEqual(["first"]);
  });
});

describe("a node that replaces another at once", () => {
  it.each([
    ["the same process, which reconnects", "one", "one"],
    ["a node that names no process, as GSV's do not", "one", undefined],
    ["any node, of one that names no process", undefined, "two"],
  ])("%s", async (_who, first, second) => {
    await node("first", first);
    expect(await node("second", second)).toMatchObject({ ok: true });
    expect(await present()).toEqual(["second"]);
    expect(world.isClosed("first")).toBe(true);
  });

  it("one whose process was killed: the end of its socket frees the id", async () => {
    await node("first", "one");
    await socket.end("first");
    expect(await node("second", "two")).toMatchObject({ ok: true });
  });
});

describe("clients get node events", () => {
  const changes = () =>
    world
      .events("chat")
      .filter(({ event }) => event === "node.changed")
      .map(({ payload }) => payload);
  beforeEach(() => client("chat"));

  it("when one connects, with the names of its tools, and when its socket ends", async () => {
    await node("first", "one");
    expect(changes()).toEqual([{ nodeId: "laptop", connected: true, tools: ["laptop__Grep"] }]);
    await socket.end("first");
    expect(changes()[1]).toEqual({ nodeId: "laptop", connected: false, tools: [] });
  });

  it("not when one replaces its own socket", async () => {
    await node("first", "one");
    await node("second", "one");
    await socket.end("first");
    expect(changes()).toHaveLength(1);
  });

  it("not when one is refused", async () => {
    await node("first", "one");
    await node("second", "two");
    await socket.end("second");
    expect(changes()).toHaveLength(1);
  });

  it("once when it is forgotten by force", async () => {
    const owner = (await world.token(["client", "admin"])).token;
    await node("first", "one");
    await socket.open("owner", owner);
    const identity = { id: "owner", version: "0", platform: "test", mode: "client" };
    await socket.request("owner", "connect", { minProtocol: 1, client: identity });
    await socket.request("owner", "node.forget", { nodeId: "laptop", force: true });
    await socket.end("first");
    expect(changes().map((change) => (change as { connected: boolean }).connected)).toEqual([true, false]);
  });
});
