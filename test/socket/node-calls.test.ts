import { beforeEach, describe, expect, it } from "vitest";
import { dispatchCall } from "../../functions/agent/tools/tool-calls.ts";
import { handleFrame } from "../../functions/socket/frame.ts";
import type { Gateway } from "../../functions/socket/gateway.ts";
import { closeSocket } from "../../functions/socket/socket-lifecycle.ts";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { openConnection } from "../../shared/peers/registry.ts";
import { createTokenVerifier, revokeToken } from "../../shared/peers/tokens.ts";
import type { EventFrame, Frame } from "../../shared/protocol/frames.ts";
import type { Sockets } from "../../shared/world/world.ts";
import { clientParams, nodeParams } from "../support/peer.ts";

let table: ReturnType<typeof createMemoryTable>;
let gateway: Gateway;
/** The frames that were posted to each connection. */
let posted: Map<string, Frame[]>;
/** Connections that have ended without an event so far. */
let gone: Set<string>;
/** Posts to these fail, once. */
let throttled: Set<string>;
let unread: Set<string>;

beforeEach(async () => {
  table = createMemoryTable();
  for (const sk of ["of-client", "of-node"]) await table.put({ pk: "TOKEN", sk, hash: "00" });
  posted = new Map();
  gone = new Set();
  throttled = new Set();
  unread = new Set();
  const sockets: Sockets = {
    async post(connectionId, frame) {
      if (unread.delete(connectionId)) return "busy";
      if (throttled.delete(connectionId)) throw new Error("Too many requests");
      if (gone.has(connectionId)) return "gone";
      posted.set(connectionId, [...(posted.get(connectionId) ?? []), frame]);
      return "sent";
    },
    close: async (connectionId) => void gone.add(connectionId),
  };
  gateway = {
    table,
    sockets,
    tokens: createTokenVerifier(table, Date.now),
    broadcast: createBroadcast(table, sockets, Date.now),
    configuration: { load: async () => ({}) },
    connected: new Map(),
    now: Date.now,
  } as unknown as Gateway;
});

const request = (connectionId: string, id: string, method: string, params: object) =>
  handleFrame(
    gateway,
    { connectionId, openedAt: Date.now() },
    JSON.stringify({ type: "req", id, method, params }),
  );

async function connect(connectionId: string, params: { client: { mode: string } }): Promise<void> {
  const scopes = ["client", "node"] as const;
  const record = {
    connectionId,
    openedAt: Date.now(),
    tokenId: `of-${params.client.mode}`,
    scopes: [...scopes],
  };
  await openConnection(table, record);
  await request(connectionId, "connect", "connect", params);
}

const answersTo = (connectionId: string, id: string) =>
  (posted.get(connectionId) ?? []).filter((frame) => frame.type === "res" && frame.id === id);

/** A client waits for the node. @returns the node's id of the call */
async function askFromAnn(): Promise<string> {
  await connect("ann", clientParams("ann"));
  await connect("node-1", nodeParams("laptop", ["Bash"]));
  await request("ann", "ask", "tool.invoke", { tool: "laptop__Bash", args: {} });
  const event = posted.get("node-1")?.find((frame) => frame.type === "evt");
  return (event as { payload: { callId: string } }).payload.callId;
}

const unavailable = { ok: false, error: { code: 503, retryable: true } };

describe("a client that waits for a disconnected node gets an error", () => {
  it("when another request finds it gone before its end is reported", async () => {
    await askFromAnn();
    gone.add("node-1");
    const address = { sessionKey: "agent:main:main", runId: "run", step: 0, callId: "call" };
    const call = { nodeId: "laptop", event: "tool.invoke" as const, payload: { tool: "Bash", args: {} } };
    expect(await dispatchCall(gateway, address, call)).toBe("Node not connected: laptop");
    await closeSocket(gateway, "node-1");
    expect(answersTo("ann", "ask")).toMatchObject([unavailable]);
  });

  it("when another client finds it gone, and its end is never reported", async () => {
    await askFromAnn();
    await connect("bob", clientParams("bob"));
    gone.add("node-1");
    await request("bob", "ask", "tool.invoke", { tool: "laptop__Bash", args: {} });
    expect(answersTo("bob", "ask")).toMatchObject([unavailable]);
    expect(answersTo("ann", "ask")).toMatchObject([unavailable]);
  });

  it("when it connects again, and the end of its old connection was not reported", async () => {
    await askFromAnn();
    gone.add("node-1");
    await request("node-1", "list", "tools.list", {});
    await connect("node-2", nodeParams("laptop", ["Bash"]));
    expect(answersTo("ann", "ask")).toMatchObject([unavailable]);
  });

  it("when its token is revoked", async () => {
    await askFromAnn();
    await revokeToken(table, "of-node", Date.now());
    await request("node-1", "list", "tools.list", {});
    expect(answersTo("ann", "ask")).toMatchObject([unavailable]);
  });

  it("although the error of another client cannot be sent; that client gets it when the node connects again", async () => {
    await askFromAnn();
    await request("ann", "again", "tool.invoke", { tool: "laptop__Bash", args: {} });
    throttled.add("ann");
    await closeSocket(gateway, "node-1");
    const answers = () => [...answersTo("ann", "ask"), ...answersTo("ann", "again")];
    expect(answers()).toMatchObject([unavailable]);
    await connect("node-2", nodeParams("laptop", ["Bash"]));
    expect(answers()).toMatchObject([unavailable, unavailable]);
  });
});

it("reports a node that does not read its messages, and leaves it connected", async () => {
  await askFromAnn();
  unread.add("node-1");
  await request("ann", "again", "tool.invoke", { tool: "laptop__Bash", args: {} });
  expect(answersTo("ann", "again")).toMatchObject([unavailable]);
  expect(answersTo("ann", "ask")).toEqual([]);
  unread.add("node-1");
  const address = { sessionKey: "agent:main:main", runId: "run", step: 0, callId: "call" };
  const call = { nodeId: "laptop", event: "tool.invoke" as const, payload: { tool: "Bash", args: {} } };
  expect(await dispatchCall(gateway, address, call)).toContain("Node does not read its messages: laptop");
  expect(await dispatchCall(gateway, address, call)).toBeUndefined();
});

it.each([
  ["has a node that ends calls end those of a client that goes", ["tool.cancel"], 1],
  ["sends a node that cannot end calls nothing when a client goes", undefined, 0],
])("%s", async (_what, capabilities, told) => {
  await connect("ann", clientParams("ann"));
  await connect("node-1", { ...nodeParams("laptop", ["Bash"]), ...(capabilities ? { capabilities } : {}) });
  await request("ann", "ask", "tool.invoke", { tool: "laptop__Bash", args: {} });
  await closeSocket(gateway, "ann");
  const events = posted.get("node-1")?.filter((frame) => frame.type === "evt") as EventFrame[];
  const [invoked, ...rest] = events.map(({ event, payload }) => ({ event, payload }));
  const { callId } = invoked!.payload as { callId: string };
  expect(rest).toEqual(Array(told).fill({ event: "tool.cancel", payload: { callId } }));
});

it("answers that an id is unknown if it is too long for a key", async () => {
  await connect("node-1", nodeParams("laptop", ["Bash"]));
  const callId = "é".repeat(600);
  await request("node-1", "long", "tool.result", { callId, result: "done" });
  expect(posted.get("node-1")?.at(-1)).toMatchObject({ id: "long", ok: false, error: { code: 404 } });
});

it.each([
  ["API Gateway failed", () => throttled],
  ["the client did not read", () => unread],
])("forwards a node's repeated answer if at first %s", async (_why, kept) => {
  const callId = await askFromAnn();
  kept().add("ann");
  await request("node-1", "first", "tool.result", { callId, result: "done" });
  expect(answersTo("node-1", "first")).toMatchObject([{ ok: false, error: { code: 500 } }]);
  await request("node-1", "second", "tool.result", { callId, result: "done" });
  expect(answersTo("ann", "ask")).toMatchObject([{ ok: true, payload: { result: "done" } }]);
  await request("node-1", "third", "tool.result", { callId, result: "done" });
  expect(answersTo("node-1", "third")).toMatchObject([{ ok: false, error: { code: 404 } }]);
  expect(answersTo("ann", "ask")).toHaveLength(1);
});
