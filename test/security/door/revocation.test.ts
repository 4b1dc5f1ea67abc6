import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { connectedPeers } from "../../../functions/agent/context/connected-peers.ts";
import { answerEntry } from "../../../functions/agent/reply/request-reply.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { dispatchCall } from "../../../functions/agent/tools/tool-calls.ts";
import { createTimerHandler } from "../../../functions/timer/timer-handler.ts";
import { createBroadcast } from "../../../shared/peers/broadcast.ts";
import { listPeers, modes, readPeer } from "../../../shared/peers/registry.ts";
import { revokeToken } from "../../../shared/peers/tokens.ts";
import type { ResponseFrame } from "../../../shared/protocol/frames.ts";
import nativeTools from "../../../shared/protocol/native-tools.json" with { type: "json" };
import { metaKey } from "../../../shared/session/state.ts";
import type { Table } from "../../../shared/world/world.ts";
import { openBench } from "../../agent/bench.ts";
import { clientParams, nodeParams } from "../../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../../support/socket-function.ts";
import { type State, startState } from "../../support/state.ts";

/** Revocation: a token must not work after it was revoked (CWE-613). */

let state: State;
let world: SocketWorld;
/** The instance of the peers, and that of the owner. */
let gateway: SocketFunction;
let owners: SocketFunction;
const states: State[] = [];

beforeEach(async () => {
  state = await startState();
  states.push(state);
  await openWorld();
});
afterAll(async () => {
  for (const one of states) await one.close();
});

/** Sockets, and instances of the functions on the same table. */
async function openWorld(): Promise<void> {
  world = openSocketWorld(state);
  gateway = world.start();
  owners = world.start();
  const { token } = await world.token(["client", "admin"]);
  await owners.open("owner", token);
  // Use a different id for each token.
  await connect(owners, "owner", "client", token.slice(4, 14));
}

const connect = (on: SocketFunction, connectionId: string, mode: "client" | "node", id: string) =>
  on.request(connectionId, "connect", mode === "client" ? clientParams(id) : nodeParams(id, ["Bash"]));

/** Connects a peer on a socket of its name, and fills the function's caches. */
async function peer(mode: "client" | "node", name: string): Promise<{ id: string; token: string }> {
  const token = await world.token(mode === "node" ? ["node"] : ["client", "admin"]);
  expect(await gateway.open(name, token.token)).toBe(200);
  expect(await connect(gateway, name, mode, name)).toMatchObject({ ok: true });
  expect(await gateway.request(name, "tools.list")).toMatchObject({ ok: true });
  return token;
}

const revoke = (id: string) => owners.request("owner", "token.revoke", { id });
const done = { ok: true, payload: { revoked: true } };
const refused = { ok: false, error: { code: 401 } };
const broadcast = () => createBroadcast(state.table, world.sockets, world.now);

/** Sends an event to all clients, as a new invocation does. */
async function tell(): Promise<void> {
  const payload = { runId: "r", sessionKey: "agent:main:main", state: "error", error: "told" } as const;
  await broadcast().send(await broadcast().clients(), "chat", payload);
}

/** The records of peers with this token, listed or not. */
async function recordsOf(tokenId: string) {
  const items = await Promise.all(modes.map((mode) => state.table.query({ pk: `PEER#${mode}` })));
  return items.flat().filter((item) => item.tokenId === tokenId);
}

describe("a peer whose token was revoked", () => {
  it("is refused at its first reconnect by a function that just accepted it", async () => {
    const { id, token } = await peer("client", "phone");
    expect(await gateway.open("waiting", token)).toBe(200);
    expect(await revoke(id)).toMatchObject(done);
    expect(await gateway.open("again", token)).toBe(401);
    expect(await connect(gateway, "waiting", "client", "phone")).toMatchObject(refused);
    await gateway.open("bare");
    const withToken = clientParams("phone", token);
    expect(await gateway.request("bare", "connect", withToken)).toMatchObject(refused);
    expect(world.isClosed("phone")).toBe(true);
  });

  it.each(["silently", "with an error"] as const)(
    "receives nothing more although the closing of its socket failed %s",
    async (loss) => {
      const { id } = await peer("client", "phone");
      await tell();
      expect(world.events("phone")).toHaveLength(1);
      world.unclosable.set("phone", loss);
      expect(await revoke(id)).toMatchObject(done);
      await tell();
      expect(world.events("phone")).toHaveLength(1);
      expect(world.events("owner")).toHaveLength(2);
      world.unclosable.set("phone", "silently");
      expect(await gateway.request("phone", "config.get")).toMatchObject(refused);
      expect(await world.start().request("phone", "config.get")).toBeUndefined();
    },
  );

  it("is disconnected by the timer if the first attempt failed", async () => {
    const { id } = await peer("client", "phone");
    world.unclosable.set("phone", "with an error");
    await revoke(id);
    world.unclosable.clear();
    const timer = createTimerHandler(world.outside);
    for (const { event } of world.schedules.made) await timer(event, {} as never);
    expect(world.isClosed("phone")).toBe(true);
    expect(world.isClosed("owner")).toBe(false);
  });

  it("is not reported as disconnected if its socket could not be closed, now or by the timer", async () => {
    const { id } = await peer("client", "phone");
    world.unclosable.set("phone", "with an error");
    world.schedules.refuse = true;
    expect(await revoke(id)).toMatchObject({ ok: false, error: { code: 500, retryable: true } });
    await tell();
    expect(world.events("phone")).toEqual([]);
    world.unclosable.clear();
    expect(await revoke(id)).toMatchObject(done);
    expect(world.isClosed("phone")).toBe(true);
  });

  it("cannot change anything with a later frame", async () => {
    const { id } = await peer("client", "phone");
    const zone = (value: string) => ({ path: "userTimezone", value });
    expect(await gateway.request("phone", "config.set", zone("Europe/Paris"))).toMatchObject({ ok: true });
    world.unclosable.set("phone", "silently");
    await revoke(id);
    expect(await gateway.request("phone", "config.set", zone("Asia/Tokyo"))).toMatchObject(refused);
    const now = await owners.request("owner", "config.get", { path: "userTimezone" });
    expect(now).toMatchObject({ ok: true, payload: { value: "Europe/Paris" } });
  });
});

describe("a revocation that crashed after setting its mark", () => {
  it("leaves a node that is neither offered nor called", async () => {
    const { id } = await peer("node", "laptop");
    const agent = { table: state.table, broadcast: broadcast(), sockets: world.sockets, now: world.now };
    expect((await connectedPeers(agent).nodes(world.now())).map((node) => node.id)).toEqual(["laptop"]);
    await revokeToken(state.table, id, world.now());
    expect(await recordsOf(id)).toHaveLength(1);
    expect(await connectedPeers(agent).known(world.now())).toEqual([]);
    expect(await owners.request("owner", "tools.list")).toMatchObject({ payload: { tools: nativeTools } });
    const call = { tool: "laptop__Bash", args: {} };
    expect(await owners.request("owner", "tool.invoke", call)).toMatchObject({ error: { code: 404 } });
    expect(await owners.request("owner", "logs.get")).toMatchObject({ error: { code: 503 } });
    const address = { sessionKey: "agent:main:main", runId: "run", step: 0, callId: "call" };
    const invoke = { nodeId: "laptop", event: "tool.invoke" as const, payload: { tool: "Bash", args: {} } };
    expect(await dispatchCall(agent, address, invoke)).toBe("Node not connected: laptop");
    expect(world.events("laptop")).toEqual([]);
  });

  it("leaves a client that receives nothing", async () => {
    const { id } = await peer("client", "phone");
    await revokeToken(state.table, id, world.now());
    await tell();
    expect(world.events("phone")).toEqual([]);
    expect(world.events("owner")).toHaveLength(1);
  });

  it("leaves nothing visible, at whichever later call it crashed", async () => {
    for (let at = 1; at < 10; at++) {
      await openWorld();
      const { id } = await peer("client", "phone");
      const died = async () => {
        throw new Error("died");
      };
      const { table, calls } = interrupted(at, died);
      await revokeToken(table, id, world.now()).catch(() => {});
      if (calls() <= at) {
        expect(at).toBe(6);
        return;
      }
      const isMarked = at > 1;
      await tell();
      expect(world.events("phone").length, `died before call ${at}`).toBe(isMarked ? 0 : 1);
      expect(await revoke(id)).toMatchObject(done);
      await tell();
      expect(world.events("phone").filter(({ event }) => event === "chat").length).toBe(isMarked ? 0 : 1);
    }
  });

  it("is completed by a repeat", async () => {
    const { id } = await peer("client", "phone");
    await revokeToken(state.table, id, world.now());
    expect(await revoke(id)).toMatchObject(done);
    expect(world.isClosed("phone")).toBe(true);
    expect(await recordsOf(id)).toEqual([]);
  });
});

describe("an answer that is streaming when a token is revoked", () => {
  const heardBy = (connectionId: string) =>
    world
      .events(connectionId)
      .map(({ payload }) => payload as { state?: string; text?: string })
      .map(({ state: kind, text }) => (kind === "delta" ? text : `(${kind})`))
      .join("");

  /** Runs a turn and `during` in its middle. @returns what the phone and the owner have received */
  async function streamed(during: () => Promise<unknown>): Promise<string[]> {
    const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: "http://127.0.0.1:9" });
    const at = world.now();
    const entry = { id: "run", at, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
    await bench.submit("agent:main:main", entry);
    const agent = { ...bench.agent(), sockets: world.sockets, broadcast: broadcast(), now: world.now };
    const callModel: typeof agent.callModel = async ({ onText }) => {
      onText("before ");
      while (heardBy("phone") === "") await new Promise(setImmediate);
      await during();
      onText("after");
      const message = { role: "assistant", content: [{ type: "text", text: "all" }], timestamp: at } as const;
      return { status: "answered", message: { ...message, content: [...message.content] } };
    };
    await holdSession({ ...agent, callModel }, "agent:main:main", () => 900_000);
    return [heardBy("phone"), heardBy("owner")];
  }

  it("stops for its socket, which is closed", async () => {
    const { id } = await peer("client", "phone");
    expect(await streamed(() => revoke(id))).toEqual(["before ", "before after(final)"]);
  });

  it("stops for its socket within a second if the close was lost", async () => {
    const { id } = await peer("client", "phone");
    world.unclosable.set("phone", "silently");
    const during = async () => {
      await revoke(id);
      world.clock.later += 1001;
    };
    expect(await streamed(during)).toEqual(["before ", "before after(final)"]);
  });
});

describe("a request in progress when its token is revoked", () => {
  it("is refused when a node answers it afterwards", async () => {
    await peer("node", "laptop");
    const { id } = await peer("client", "phone");
    const invoke = { tool: "laptop__Bash", args: {} };
    expect(await gateway.request("phone", "tool.invoke", invoke), "it waits").toBeUndefined();
    world.unclosable.set("phone", "silently");
    await revoke(id);
    const [call] = world.events("laptop").map(({ payload }) => payload as { callId: string });
    const result = { callId: call?.callId, result: "of the node" };
    expect(await gateway.request("laptop", "tool.result", result)).toMatchObject({ ok: true });
    expect(world.posted.get("phone")?.at(-1)).toMatchObject(refused);
    expect(JSON.stringify(world.posted.get("phone"))).not.toContain("of the node");
  });

  it("is refused when the agent answers it afterwards", async () => {
    const { id } = await peer("client", "phone");
    await revokeToken(state.table, id, world.now());
    const origin = { kind: "client", connectionId: "phone", requestId: "asked", tokenId: id } as const;
    const entry = { id: "e", at: 1, origin, kind: "compact", keep: 1, via: "method" } as const;
    const agent = {
      ...openBench(state, { provider: "openai-compatible", id: "m" }).agent(),
      sockets: world.sockets,
    };
    await answerEntry(
      agent,
      entry,
      { ok: true, trimmedMessages: 1, keptMessages: 1 },
      "compact",
      "Compacted.",
    );
    expect(world.posted.get("phone")?.at(-1)).toMatchObject({ id: "asked", ...refused });
  });

  it("is passed to the agent with its token", async () => {
    const { id } = await peer("client", "phone");
    const asked = { sessionKey: "agent:main:main" };
    expect(await gateway.request("phone", "session.reset", asked), "it waits").toBeUndefined();
    const session = await state.table.get(metaKey("agent:main:main"));
    expect(session?.inbox).toMatchObject([{ kind: "reset", origin: { tokenId: id } }]);
  });

  it("is refused if it took long", async () => {
    const { id } = await peer("client", "phone");
    world.unclosable.set("phone", "silently");
    const queryIndex: Table["queryIndex"] = async (query) => {
      await revoke(id);
      world.clock.later += 1001;
      return state.table.queryIndex(query);
    };
    const slow = world.start({ ...state.table, queryIndex });
    expect(await slow.request("phone", "sessions.list")).toMatchObject(refused);
  });

  it("is refused if it is a tool's result", async () => {
    const { id } = await peer("node", "laptop");
    world.unclosable.set("laptop", "silently");
    await revoke(id);
    const result = { callId: "any", result: "x" };
    expect(await gateway.request("laptop", "tool.result", result)).toMatchObject(refused);
  });
});

/** The table of one instance. Runs `meanwhile` before call number `at`. */
function interrupted(at: number, meanwhile: () => Promise<unknown>): { table: Table; calls: () => number } {
  let calls = 0;
  const entries = Object.entries(state.table).map(([name, call]) => [
    name,
    async (...args: unknown[]) => {
      if (calls++ === at) await meanwhile();
      return (call as (...args: unknown[]) => Promise<unknown>).apply(state.table, args);
    },
  ]);
  return { table: Object.fromEntries(entries), calls: () => calls };
}

/** Checks that the token has no records and its socket may do nothing, whatever `connect` answered. */
async function expectOut(tokenId: string, answer: ResponseFrame | undefined): Promise<void> {
  expect(await recordsOf(tokenId)).toEqual([]);
  if (answer !== undefined && !answer.ok) expect(answer).toMatchObject(refused);
  expect(world.isClosed("phone")).toBe(true);
  await tell();
  expect(world.events("phone")).toEqual([]);
}

describe.each(["client", "node"] as const)("revoking the token of a %s that is connecting", (mode) => {
  /** More table calls than either of the two makes. */
  const most = 40;

  it("closes or refuses it, at whichever call of connecting the revocation happens", async () => {
    for (let at = 0; at < most; at++) {
      await openWorld();
      const { id, token } = await world.token([mode]);
      const { table, calls } = interrupted(at, () => revoke(id));
      gateway = world.start(table);
      const status = await gateway.open("phone", token);
      const answer = status === 200 ? await connect(gateway, "phone", mode, `p-${at}`) : undefined;
      if (calls() <= at) {
        expect(answer).toMatchObject({ ok: true });
        expect(at).toBeGreaterThan(6);
        return;
      }
      if (status === 200) await expectOut(id, answer);
      else expect(status).toBe(401);
    }
    throw new Error("connecting makes more calls than were tried");
  });

  it("closes or refuses it, at whichever call of the revocation the connecting happens", async () => {
    for (let at = 0; at < most; at++) {
      await openWorld();
      const { id, token } = await world.token([mode]);
      let answer: ResponseFrame | undefined;
      const { table, calls } = interrupted(at, async () => {
        if ((await gateway.open("phone", token)) === 200)
          answer = await connect(gateway, "phone", mode, `q-${at}`);
      });
      owners = world.start(table);
      expect(await revoke(id)).toMatchObject(done);
      if (calls() <= at) {
        expect(at).toBeGreaterThan(4);
        return;
      }
      if (answer) await expectOut(id, answer);
      else expect(await recordsOf(id)).toEqual([]);
    }
    throw new Error("a revocation makes more calls than were tried");
  });
});

describe("the marks of revoked tokens are read", () => {
  it.each<[string, number, (table: Table) => Promise<unknown>]>([
    ["a list of peers", 1, (table) => listPeers(table, "client", world.now())],
    ["one peer, as a call of a tool needs it", 1, (table) => readPeer(table, "node", "laptop", world.now())],
    [
      "the peers of a run",
      2,
      (table) => {
        const { sockets, now } = world;
        const peers = connectedPeers({ table, broadcast: createBroadcast(table, sockets, now), now });
        return Promise.all([peers.nodes(now()), peers.clients(now())]);
      },
    ],
  ])("with %s, without an extra call", async (_, most, use) => {
    const { table, calls } = interrupted(-1, async () => {});
    await use(table);
    expect(calls()).toBe(most);
  });
});

describe("a peer", () => {
  it("cannot replace a mark by its choice of id", async () => {
    const { id } = await world.token(["client"]);
    const { token } = await world.token(["client"]);
    await gateway.open("forger", token);
    const answer = await connect(gateway, "forger", "client", `#revoked#${id}`);
    expect(answer).toMatchObject({ ok: false, error: { code: 400 } });
  });
});
