import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { listPeers } from "../../shared/peers/registry.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { EventFrame } from "../../shared/protocol/frames.ts";
import type { Method } from "../../shared/protocol/methods.ts";
import nativeTools from "../../shared/protocol/native-tools.json" with { type: "json" };
import { readSession } from "../../shared/session/sessions.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** The requests of GSV's own client, nodes and channels, and the answers that they expect. */

let state: State;
let world: SocketWorld;
let socket: SocketFunction;
let token: string;
let connections = 0;
beforeAll(async () => {
  state = await startState();
  world = openSocketWorld(state);
  token = (await world.token(["client", "node", "admin"])).token;
  socket = world.start();
  await socket.open("client", token);
  await socket.request("client", "connect", { ...clientParams("gsv-cli"), auth: { token } });
});
afterAll(() => state.close());

const ask = (method: Method, params?: object) => socket.request("client", method, params);
const main = "agent:main:main";

async function connectNode(params: object): Promise<{ code: number | undefined; connectionId: string }> {
  const connectionId = `node-${++connections}`;
  await socket.open(connectionId, token);
  const answer = await socket.request(connectionId, "connect", params);
  return { code: answer?.ok ? undefined : answer?.error?.code, connectionId };
}

describe("connect of a node", () => {
  const node = nodeParams("gsv-node", ["Bash", "Read"]);
  const runtime = (changes: object) => ({ ...node, nodeRuntime: { ...node.nodeRuntime, ...changes } });
  const [bash] = node.tools;

  it.each<[string, object]>([
    ["without a nodeRuntime", { ...node, nodeRuntime: undefined }],
    ["with an empty nodeRuntime", { ...node, nodeRuntime: {} }],
    ["with a text for nodeRuntime", { ...node, nodeRuntime: "linux" }],
    ["with null for nodeRuntime", { ...node, nodeRuntime: null }],
    ["with a role that there is not", runtime({ hostRole: "king" })],
    ["with a role that is no text", runtime({ hostRole: 1 })],
    ["with no capability of the host", runtime({ hostRole: "specialized", hostCapabilities: [] })],
    ["with a tool without capabilities", runtime({ toolCapabilities: { Bash: ["shell.exec"], Read: [] } })],
    ["with a tool that is not in toolCapabilities", runtime({ toolCapabilities: { Bash: ["shell.exec"] } })],
    [
      "with a tool's capability that the host lacks",
      runtime({ toolCapabilities: { Bash: ["shell.exec"], Read: ["text.search"] } }),
    ],
    [
      "with capabilities of a tool that it does not have",
      runtime({ toolCapabilities: { ...node.nodeRuntime.toolCapabilities, Glob: ["shell.exec"] } }),
    ],
    ["with one tool twice", { ...node, tools: [...node.tools, bash] }],
    [
      "with the role of an execution host, and without its capabilities",
      runtime({ hostCapabilities: ["shell.exec"] }),
    ],
  ])("%s is refused with 103", async (_what, params) => {
    expect((await connectNode(params)).code).toBe(103);
  });

  it.each([
    ["execution", node.nodeRuntime.hostCapabilities],
    ["specialized", ["shell.exec"]],
  ])("without a role makes it an %s host by its capabilities", async (role, hostCapabilities) => {
    const { code } = await connectNode(runtime({ hostRole: undefined, hostCapabilities }));
    expect(code).toBe(undefined);
    const peers = await listPeers(state.table, "node", world.now());
    expect(peers.find(({ id }) => id === "gsv-node")?.runtime?.hostRole).toBe(role);
  });
});

it("tools.list shows a client also the gateway's own tools, and a node only those of nodes", async () => {
  const { connectionId } = await connectNode(nodeParams("gsv-node", ["Bash"]));
  const names = (answer: { ok: boolean; payload?: unknown } | undefined) =>
    ((answer?.payload ?? { tools: [] }) as { tools: { name: string }[] }).tools.map(({ name }) => name);
  const native = nativeTools.map(({ name }) => name);
  expect(names(await ask("tools.list"))).toEqual([...native, "gsv-node__Bash"]);
  expect(names(await socket.request(connectionId, "tools.list"))).toEqual(["gsv-node__Bash"]);
  expect(await ask("tool.invoke", { tool: "gsv__ReadFile" })).toMatchObject({
    error: { code: 404, message: expect.stringContaining("only the agent can call") },
  });
});

it.each([
  ["auth.token", "secret"],
  ["auth", { token: "secret" }],
])("config.set %s is refused, and says how to create tokens", async (path, value) => {
  const error = { code: 400, message: expect.stringContaining("token.create") };
  expect(await ask("config.set", { path, value })).toMatchObject({ ok: false, error });
  expect(await ask("config.set", { path, value: null })).toMatchObject({ ok: true });
});

it.each([
  ["none", "off"],
  ["min", "minimal"],
  ["MED", "medium"],
  ["max", "xhigh"],
  ["5", "xhigh"],
])("the level %s is %s, in a command and in session.patch", async (word, level) => {
  const sessionKey = "levels";
  const set = { payload: { response: `Thinking level set to ${level}` } };
  expect(await ask("chat.send", { sessionKey, message: `/think ${word}` })).toMatchObject(set);
  await ask("session.patch", { sessionKey, settings: { thinkingLevel: null } });
  await ask("session.patch", { sessionKey, settings: { thinkingLevel: word } });
  expect((await readSession(state.table, "agent:main:levels"))?.settings.thinkingLevel).toBe(level);
});

describe("session.patch", () => {
  const settings = async () => (await readSession(state.table, "agent:main:halves"))?.settings;
  const policy = async () => (await readSession(state.table, "agent:main:halves"))?.resetPolicy;
  const patch = (change: object) => ask("session.patch", { sessionKey: "halves", ...change });

  it("of a part of the model keeps the rest of the model in use", async () => {
    await ask("config.set", { path: "model", value: { provider: "openai", id: "gpt-x" } });
    expect(await patch({ settings: { model: { id: "gpt-y" } } })).toMatchObject({ ok: true });
    expect(await settings()).toEqual({ model: { provider: "openai", id: "gpt-y" } });
    await patch({ settings: { model: { provider: "openrouter" } } });
    expect(await settings()).toEqual({ model: { provider: "openrouter", id: "gpt-y" } });
    await patch({ settings: { model: null } });
    expect(await settings()).toEqual({});
  });

  it("of a part of the reset policy keeps the rest", async () => {
    await patch({ resetPolicy: { atHour: 6 } });
    expect(await policy()).toEqual({ mode: "daily", atHour: 6 });
    await patch({ resetPolicy: { mode: "idle", idleMinutes: 0 } });
    expect(await policy()).toEqual({ mode: "idle", atHour: 6, idleMinutes: 0 });
    await patch({ resetPolicy: { idleMinutes: 30 } });
    expect(await policy()).toEqual({ mode: "idle", atHour: 6, idleMinutes: 30 });
    await patch({ resetPolicy: null });
    expect(await policy()).toBe(undefined);
  });
});

it.each([
  [0, 1],
  [70_000, 5000],
])("logs.get of %d lines asks the node for %d", async (lines, asked) => {
  const { connectionId } = await connectNode(nodeParams("gsv-node", ["Bash"]));
  await ask("logs.get", { nodeId: "gsv-node", lines });
  expect(world.events(connectionId)).toMatchObject([{ event: "logs.get", payload: { lines: asked } }]);
});

it("workspace methods drop a leading /, and give times as ISO texts", async () => {
  const file = { path: "notes/a.md", size: 2 };
  expect(await ask("workspace.write", { path: "/notes/a.md", content: "hi" })).toMatchObject({
    payload: file,
  });
  const read = await ask("workspace.read", { path: "/notes/a.md" });
  const { lastModified } = read?.ok ? (read.payload as { lastModified: string }) : { lastModified: "" };
  expect(read).toMatchObject({ payload: { ...file, content: "hi" } });
  expect(new Date(lastModified).toISOString()).toBe(lastModified);
  expect(await ask("workspace.list", { path: "/notes/" })).toMatchObject({
    payload: { files: ["notes/a.md"] },
  });
  expect(await ask("workspace.delete", { path: "/notes/a.md" })).toMatchObject({
    payload: { path: "notes/a.md", deleted: true },
  });
});

describe("a channel's own program", () => {
  const address = { channel: "matrix", accountId: "default" };
  const peer = { kind: "dm", id: "@ada:example.org" };
  const inbound = (id: string, text: string) =>
    socket.request("bridge", "channel.inbound", { ...address, peer, message: { id, text } });
  const sentToBridge = () => world.events("bridge") as EventFrame[];

  beforeAll(async () => {
    const configuration = openConfiguration(state.table, state.openSecrets("/test"));
    const settings = { dmPolicy: "allowlist", allowFrom: [peer.id], owners: [peer.id] };
    await configuration.set("channels.matrix", settings);
    const named = { name: "bridge", scopes: ["channel"] as const, ...address };
    const bridge = await createToken(state.table, named, world.now());
    await socket.open("bridge", bridge.token);
    const client = { id: "m", version: "0", platform: "test", mode: "channel", ...address };
    await socket.request("bridge", "connect", { minProtocol: 1, client });
  });

  it("gets a command's name and response in the result of channel.inbound", async () => {
    expect(await inbound("1", "/stop")).toMatchObject({
      payload: { status: "command", sessionKey: main, command: "stop", response: "No run in progress." },
    });
  });

  it("gets the session of each message and of typing", async () => {
    await inbound("2", "/status");
    await inbound("3", "hello");
    const events = sentToBridge();
    expect(events.map(({ event }) => event)).toContain("channel.outbound");
    expect(events).toContainEqual(
      expect.objectContaining({
        event: "channel.typing",
        payload: expect.objectContaining({ typing: true }),
      }),
    );
    for (const event of events) expect(event.payload).toMatchObject({ sessionKey: main });
  });

  it("shows a stranger's first message in pair.list", async () => {
    await ask("config.set", { path: "channels.matrix.dmPolicy", value: "pairing" });
    const stranger = { kind: "dm", id: "@eve:example.org" };
    const message = { id: "4", text: "let me in" };
    await socket.request("bridge", "channel.inbound", { ...address, peer: stranger, message });
    const entry = expect.objectContaining({ message: "let me in", firstMessage: "let me in" });
    expect(await ask("pair.list")).toMatchObject({
      payload: { pairs: { "matrix:default:@eve:example.org": entry } },
    });
  });
});
