import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { nodeToolName, nodeTools } from "../../../shared/peers/nodes.ts";
import { claimId, normalId } from "../../../shared/peers/peer-ids.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import { revokeToken } from "../../../shared/peers/tokens.ts";
import type { ResponseFrame } from "../../../shared/protocol/frames.ts";
import type { Table } from "../../../shared/world/world.ts";
import { clientParams, nodeParams } from "../../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../../support/socket-function.ts";
import { type State, startState } from "../../support/state.ts";

/** Id takeover: a token must not become another token's peer by using its id (CWE-290, CWE-694). */

let state: State;
let world: SocketWorld;
let gateway: SocketFunction;
let sockets = 0;
const states: State[] = [];

beforeEach(async () => {
  state = await startState();
  states.push(state);
  world = openSocketWorld(state);
  gateway = world.start();
});
afterAll(async () => {
  for (const one of states) await one.close();
});

/** Connects on a new socket with the name `socket`. */
async function connect(mode: "client" | "node", id: string, token: string, on = gateway) {
  const socket = `socket-${++sockets}`;
  await on.open(socket, token);
  const params = mode === "node" ? nodeParams(id, ["Bash"]) : clientParams(id);
  return { socket, answer: await on.request(socket, "connect", params) };
}

const node = async (id: string, token: string, on = gateway) => connect("node", id, token, on);
const newToken = async (mode: "client" | "node") => (await world.token([mode])).token;

async function owner(): Promise<
  (method: "node.forget" | "tool.invoke", params: object) => Promise<ResponseFrame>
> {
  const { token } = await world.token(["client", "admin"]);
  const { socket } = await connect("client", `owner-${sockets}`, token);
  return async (method, params) => (await gateway.request(socket, method, params)) as ResponseFrame;
}

const taken = { ok: false, error: { code: 409 } };
const accepted = { ok: true };

describe("a node's id", () => {
  it.each([
    ["my_laptop", "my_laptop"],
    ["my_laptop", "my.laptop"],
    ["my.laptop", "my_laptop"],
    ["my:laptop", "my@laptop"],
    ["laptop", "Laptop"],
    ["MY.Laptop", "my_LAPTOP"],
  ])(
    "%s cannot be taken over as %s by another token, whether its node is connected or not",
    async (id, other) => {
      const first = await node(id, await newToken("node"));
      expect(first.answer).toMatchObject(accepted);
      const thief = await newToken("node");
      expect((await node(other, thief)).answer).toMatchObject(taken);
      expect(world.isClosed(first.socket)).toBe(false);
      const ask = await owner();
      await ask("tool.invoke", { tool: `${id.replace(/\W/g, "_")}__Bash`, args: {} });
      expect(world.events(first.socket)).toHaveLength(1);
      await gateway.end(first.socket);
      expect((await node(other, thief)).answer).toMatchObject(taken);
    },
  );

  it.each(["gsv", "GSV", "gsv_", "gsv.", "gsv__", "gsv__x", "Gsv:_x"])(
    "cannot be the gateway's own name: %s",
    async (id) => {
      const { answer } = await node(id, await newToken("node"));
      expect(answer).toMatchObject({ ok: false, error: { code: 103, message: /gateway's own name/ } });
    },
  );

  it("may begin with the gateway's name", async () => {
    for (const id of ["gsv-box", "gsv2", "mygsv", "gsv_box"])
      expect((await node(id, await newToken("node"))).answer).toMatchObject(accepted);
  });

  it("gets a refusal that explains how to release it", async () => {
    await node("laptop", await newToken("node"));
    const { answer } = await node("Laptop", await newToken("node"));
    expect(answer?.error?.message).toBe(
      'the node id "Laptop" belongs to another token, as "laptop": choose another id, or release it with node.forget (`gsv node forget Laptop`)',
    );
  });

  it("can be used again by its own token, which replaces the older connection", async () => {
    const token = await newToken("node");
    const first = await node("laptop", token);
    expect((await node("laptop", token)).answer).toMatchObject(accepted);
    expect(world.isClosed(first.socket)).toBe(true);
  });

  it("stays bound without a time limit, even after its token is revoked", async () => {
    const { id, token } = await world.token(["node"]);
    await node("laptop", token);
    await revokeToken(state.table, id, world.now());
    world.clock.later += 400 * 86_400_000;
    expect((await node("laptop", await newToken("node"))).answer).toMatchObject(taken);
  });

  it("can be released by node.forget, for the first token that connects afterwards", async () => {
    const first = await node("my.laptop", await newToken("node"));
    const ask = await owner();
    await gateway.end(first.socket);
    const result = { ok: true, nodeId: "My_Laptop", removed: true, disconnected: false };
    expect(await ask("node.forget", { nodeId: "My_Laptop" })).toMatchObject({ payload: result });
    expect((await node("my_laptop", await newToken("node"))).answer).toMatchObject(accepted);
    expect((await node("my_laptop", await newToken("node"))).answer).toMatchObject(taken);
  });

  it("can be released while its node is connected only by force, which ends the connection", async () => {
    const first = await node("laptop", await newToken("node"));
    const ask = await owner();
    expect(await ask("node.forget", { nodeId: "laptop" })).toMatchObject(taken);
    expect((await node("laptop", await newToken("node"))).answer).toMatchObject(taken);
    const forced = await ask("node.forget", { nodeId: "laptop", force: true });
    expect(forced).toMatchObject({ payload: { removed: true, disconnected: true } });
    expect(world.isClosed(first.socket)).toBe(true);
    expect((await node("laptop", await newToken("node"))).answer).toMatchObject(accepted);
  });

  it("that is not bound can be forgotten without a change", async () => {
    const ask = await owner();
    const result = { ok: true, nodeId: "nobody", removed: false, disconnected: false };
    expect(await ask("node.forget", { nodeId: "nobody" })).toMatchObject({ payload: result });
  });

  it("can be released only by an administrator", async () => {
    await node("laptop", await newToken("node"));
    const client = await connect("client", "plain", await newToken("client"));
    const force = { nodeId: "laptop", force: true };
    expect(await gateway.request(client.socket, "node.forget", force)).toMatchObject({
      error: { code: 403 },
    });
  });

  it("of a node from before ids were bound is bound when the node reconnects", async () => {
    const token = await newToken("node");
    await node("laptop", token);
    await state.table.delete({ pk: "ID#node", sk: "laptop" });
    expect((await node("laptop", token)).answer).toMatchObject(accepted);
    expect((await node("laptop", await newToken("node"))).answer).toMatchObject(taken);
  });

  it("goes to exactly one of two tokens that first use it at the same time", async () => {
    const most = 20;
    for (let at = 0; at < most; at++) {
      const [one, two] = [await newToken("node"), await newToken("node")];
      const id = `raced-${at}`;
      let other: ResponseFrame | undefined;
      let calls = 0;
      const meanwhile = async () => {
        if (calls++ === at) other = (await node(id.toUpperCase(), two)).answer;
      };
      const entries = Object.entries(state.table).map(([name, call]) => [
        name,
        async (...args: unknown[]) => {
          await meanwhile();
          return (call as (...args: unknown[]) => Promise<unknown>).apply(state.table, args);
        },
      ]);
      const { answer } = await node(id, one, world.start(Object.fromEntries(entries) as Table));
      if (calls <= at) {
        expect(at).toBeGreaterThan(6);
        return;
      }
      expect([answer?.ok, other?.ok].sort()).toEqual([false, true]);
    }
    throw new Error("connecting makes more calls than were tried");
  });
});

describe("a client's id", () => {
  it("cannot be taken over by another token, and its client stays connected", async () => {
    const first = await connect("client", "my.phone", await newToken("client"));
    const { answer } = await connect("client", "MY_phone", await newToken("client"));
    expect(answer).toMatchObject(taken);
    expect(answer?.error?.message).toContain("choose another id, or revoke that token");
    expect(world.isClosed(first.socket)).toBe(false);
    expect(await gateway.request(first.socket, "tools.list")).toMatchObject(accepted);
  });

  it("is free after its token is revoked, so a lost token locks nobody out", async () => {
    const { id, token } = await world.token(["client"]);
    await connect("client", "phone", token);
    await revokeToken(state.table, id, world.now());
    expect((await connect("client", "phone", await newToken("client"))).answer).toMatchObject(accepted);
    expect((await connect("client", "phone", await newToken("client"))).answer).toMatchObject(taken);
  });

  it("is free 30 days after the last connect, and not before", async () => {
    const mine = await newToken("client");
    const day = 86_400_000;
    await connect("client", "phone", mine);
    world.clock.later += 29 * day;
    expect((await connect("client", "phone", await newToken("client"))).answer).toMatchObject(taken);
    expect((await connect("client", "phone", mine)).answer).toMatchObject(accepted);
    world.clock.later += 29 * day;
    expect((await connect("client", "phone", await newToken("client"))).answer).toMatchObject(taken);
    world.clock.later += 2 * day;
    expect((await connect("client", "phone", await newToken("client"))).answer).toMatchObject(accepted);
  });

  it("may equal a node's", async () => {
    await node("laptop", await newToken("node"));
    expect((await connect("client", "laptop", await newToken("client"))).answer).toMatchObject(accepted);
  });

  it("goes to one of two tokens that see its old token revoked", async () => {
    const { id } = await world.token(["client"]);
    await claimId(state.table, { mode: "client", id: "phone" }, id, world.now());
    await revokeToken(state.table, id, world.now());
    const claim = (token: string) =>
      claimId(state.table, { mode: "client", id: "phone" }, token, world.now()).then(
        () => true,
        () => false,
      );
    const won = await Promise.all([claim("first"), claim("second")]);
    expect(won.sort()).toEqual([false, true]);
  });
});

describe("the name of a node's tool", () => {
  const record = (id: string, ...tools: string[]) =>
    ({
      id,
      tools: tools.map((name) => ({ name, description: id, inputSchema: {} })),
    }) as unknown as PeerRecord;

  it("is unique for two ids, even if they are too long for it", () => {
    const start = "a-server-with-a-name-that-is-longer-than-a-tools-name-may-be";
    const [one, other] = [`${start}-1`, `${start}-2`];
    expect(normalId(one)).not.toBe(normalId(other));
    const tools = nodeTools([record(one, "Bash"), record(other, "Bash")]);
    expect([...tools.values()].map(({ node: { id } }) => id)).toEqual([one, other]);
    for (const name of tools.keys()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it.each([4, 44, 45, 46])("differs from that of an id which looks like a shortened one (%i)", (length) => {
    const tool = "t".repeat(length);
    const victim = `a-server-with-a-name-that-is-longer-than-a-tools-name-may-be`;
    const thief = nodeToolName(victim, tool)?.slice(0, -tool.length - 2) ?? "";
    expect(thief.length).toBeGreaterThan(15);
    expect(nodeToolName(thief, tool)).not.toBe(nodeToolName(victim, tool));
  });

  it("is the node's id and the tool's name if both fit", () => {
    expect(nodeToolName("my.laptop", "Bash")).toBe("my_laptop__Bash");
    expect(nodeToolName("x".repeat(58), "Bash")).toBe(`${"x".repeat(58)}__Bash`);
  });

  it("is refused if the tool's name leaves too little space for the id", () => {
    expect(nodeToolName("laptop", "t".repeat(57))).toBeUndefined();
    expect([...nodeTools([record("laptop", "t".repeat(57), "Bash")]).keys()]).toEqual(["laptop__Bash"]);
  });
});
