import type { Context } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgentHandler } from "../../functions/agent/agent-handler.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import { submitEntry } from "../../shared/session/intake.ts";
import { readSession } from "../../shared/session/sessions.ts";
import type { Table } from "../../shared/world/world.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** A message that is accepted after the response to `config.set` runs with that configuration, on warm instances too. */

const main = "agent:main:main";
const bridge = { channel: "matrix", accountId: "default" };
const ada = { kind: "dm", id: "@ada:example.org" };
let state: State;
let world: SocketWorld;
let model: ModelServer;
let script: (request: ModelRequest) => Reply | Promise<Reply>;
/** Another function's store: the functions below see its changes only by reading. */
let operator: ConfigurationStore;
let socket: SocketFunction;
let agent: (sessionKey: string, configurationVersion?: number) => Promise<void>;
/** Reads of the configuration by the agent. */
let reads = 0;
let messages = 0;

beforeAll(async () => {
  state = await startState();
  world = openSocketWorld(state);
  script = () => ({ text: "heard" });
  model = await startOpenAiServer((request) => script(request));
  operator = openConfiguration(state.table, world.outside.secrets);
  await operator.set("model", { provider: "openai-compatible", id: "m", baseUrl: model.url });
  await operator.set("session.defaultResetPolicy", { mode: "manual" });
  await operator.set("channels.matrix", { dmPolicy: "allowlist", allowFrom: [ada.id], owners: [ada.id] });
  const { token } = await world.token(["client", "admin"]);
  const channel = await createToken(state.table, { name: "b", scopes: ["channel"], ...bridge }, world.now());
  socket = world.start();
  await socket.open("client", token);
  await socket.request("client", "connect", clientParams("cli"));
  await socket.open("bridge", channel.token);
  const client = { id: "m", version: "0", platform: "test", mode: "channel", ...bridge };
  await socket.request("bridge", "connect", { minProtocol: 1, client });
  await socket.open("node", (await world.token(["node"])).token);
  await socket.request("node", "connect", nodeParams("laptop", ["Bash"]));
  const counting: Table = {
    ...state.table,
    get: (key, ...rest) => {
      if (key.pk === "CONFIG") reads++;
      return state.table.get(key, ...rest);
    },
  };
  agent = openAgent(counting);
});
afterAll(async () => {
  await model.close();
  await state.close();
});
beforeEach(async () => {
  script = () => ({ text: "heard" });
  await operator.set("systemPrompt", "before");
  await say();
  await agent(main);
  reads = 0;
});

/** A cold start of the agent. */
function openAgent(table: Table): typeof agent {
  const handler = createAgentHandler({ ...world.outside, table });
  const context = { getRemainingTimeInMillis: () => 900_000 } as Context;
  return (sessionKey, configurationVersion) => handler({ sessionKey, configurationVersion }, context);
}

const say = (sessionKey = "main") => socket.request("client", "chat.send", { sessionKey, message: "hello" });
const bring = () =>
  socket.request("bridge", "channel.inbound", {
    ...{ ...bridge, peer: ada },
    message: { id: `m${++messages}`, text: "hello" },
  });
const prompt = () => model.requests.at(-1)?.system;

describe("a message that arrives after the configuration was set", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["from a client", say],
    ["from a channel", bring],
    [
      "from the gateway itself",
      () =>
        submitEntry({ ...world.outside, configuration: operator }, main, {
          ...{ id: `own-${++messages}`, at: world.now(), kind: "message", text: "tick" },
          origin: { kind: "client" },
        }),
    ],
  ])("%s runs with it", async (_from, send) => {
    await operator.set("systemPrompt", "after");
    await send();
    await agent(main);
    expect(prompt()).toContain("after");
  });

  it("costs the agent no read while nothing changes", async () => {
    await say();
    await agent(main);
    expect(reads).toBe(0);
  });

  describe("and more than five seconds after the last one", () => {
    beforeEach(() => {
      world.clock.later += 5001;
    });

    it("costs the agent a read, unless the function that woke it has just read the same version", async () => {
      await say();
      await agent(main);
      expect(reads).toBe(1);
      world.clock.later += 5001;
      await say();
      await operator.load({ fresh: true });
      await agent(main, operator.version());
      expect(reads).toBe(1);
    });

    it("runs with it although the agent was woken for an older version", async () => {
      await operator.load({ fresh: true });
      const older = operator.version();
      await operator.set("systemPrompt", "after");
      await say();
      await agent(main, older);
      expect(prompt()).toContain("after");
    });
  });

  it("runs with it if it waits behind another message", async () => {
    let sent = false;
    script = async () => {
      if (!sent) {
        sent = true;
        await operator.set("systemPrompt", "after");
        await say();
      }
      return { text: "heard" };
    };
    await say();
    await agent(main);
    expect(model.requests.slice(-2).map(({ system }) => /before|after/.exec(system)?.[0])).toEqual([
      "before",
      "after",
    ]);
  });

  it("is routed with it", async () => {
    await operator.set("agents.list", [{ id: "work", default: true }]);
    expect(await say("notes")).toMatchObject({ ok: true });
    expect(await readSession(state.table, "agent:work:notes")).toBeDefined();
    await operator.set("agents.list", null);
  });

  it("uses the key that was set with it", async () => {
    await operator.set("apiKeys.openai-compatible", "first");
    await say();
    await agent(main);
    await operator.set("apiKeys.openai-compatible", "second");
    await say();
    await agent(main);
    expect(model.requests.slice(-2).map(({ headers }) => headers.authorization)).toEqual([
      "Bearer first",
      "Bearer second",
    ]);
  });

  it.each([
    ["the sender is not let in any more", "channels.matrix", { dmPolicy: "allowlist" }, "allowlist"],
    ["the account is stopped", "channels.matrix.accounts.default.enabled", false, "stopped"],
  ])("is refused when %s", async (_what, path, value, reason) => {
    const { value: kept } = (await operator.get("channels.matrix")) as { value: unknown };
    await operator.set(path, value);
    expect(await bring()).toMatchObject({ payload: { status: "blocked", reason } });
    await operator.set("channels.matrix", kept);
    expect(await bring()).toMatchObject({ payload: { status: "started" } });
  });
});

it("a run that another instance continues keeps the configuration of its message", async () => {
  const other = openAgent(state.table);
  await say();
  await other(main);
  await operator.set("systemPrompt", "after");
  script = ({ turns }) =>
    turns.at(-1)?.role === "tool"
      ? { text: "done" }
      : { toolCalls: [{ name: "laptop__Bash", arguments: "{}" }] };
  await say();
  await agent(main);
  const call = world.events("node").at(-1)?.payload as { callId: string } | undefined;
  await socket.request("node", "tool.result", { callId: call?.callId, result: "ok" });
  await other(main);
  expect(model.requests.at(-1)?.turns.at(-1)?.role).toBe("tool");
  expect(prompt()).toContain("after");
});
