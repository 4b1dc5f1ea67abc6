import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Conversation } from "../../../cli/chat/conversation.ts";
import type { Connection } from "../../../cli/gateway/connection.ts";
import { type Gateway, openGateway } from "../../../cli/gateway/gateway-client.ts";
import { startNode } from "../../../cli/node/node-runtime.ts";
import { bindPeer, openConnection, readConnection, readPeer } from "../../../shared/peers/registry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

/** Replaces API Gateway's limits of 10 minutes and 2 hours. */
const limits = { idleMs: 3000, connectionMs: 8000 };
/** As in the CLI, pings come well within the idle limit. They detect a dead connection. */
const timing = { pingIntervalMs: 1000, pongTimeoutMs: 2500, backoffMinMs: 20, backoffMaxMs: 200 };

let stack: Stack;
let model: ModelServer;
const replies: Reply[] = [];
/** The model waits for this before it answers. */
let gate: Promise<void> = Promise.resolve();
const opened: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  model = await startOpenAiServer(async () => {
    await gate;
    return replies.shift() ?? { text: "nothing was planned" };
  });
  stack = await startStack({ limits });
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

async function openClient(url = stack.cloud.ws): Promise<Gateway> {
  const gateway = await openGateway(url, stack.token, timing);
  opened.push(() => gateway.close());
  return gateway;
}

function converse(gateway: Gateway, sessionKey: string): Conversation {
  const conversation = new Conversation(gateway, sessionKey, { quietMs: 1000, retryMs: 100 });
  opened.push(async () => conversation.close());
  return conversation;
}

/** Counts how often it connects from now on. */
function countConnects(of: Pick<Connection, "onState">): () => number {
  let connects = 0;
  of.onState(({ status }) => {
    connects += status === "connected" ? 1 : 0;
  });
  return () => connects;
}

it("a quiet connection is closed although it pings, and reconnects", async () => {
  const gateway = await openClient();
  const reconnects = countConnects(gateway);
  const silent = await Peer.open(stack.cloud.ws, stack.token);
  await until(() => silent.closed !== undefined, "the silent one is closed");
  expect(silent.closed).toMatchObject({ code: 1001 });
  await until(() => reconnects() > 0, "the other one is back");
  replies.push({ text: "still here" });
  expect(await converse(gateway, "quiet").send("hello", () => {})).toMatchObject({ text: "still here" });
});

it("connections that reach their maximum age lose no message and no tool result", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "gsv-limits-"));
  opened.push(() => rm(workspace, { recursive: true }));
  const node = startNode({
    url: stack.cloud.ws,
    token: stack.token,
    nodeId: "laptop",
    workspace,
    version: "0",
    timing,
  });
  opened.push(node.stop);
  await node.connection.open();
  const gateway = await openClient();
  const reconnects = [countConnects(gateway), countConnects(node.connection)];
  const conversation = converse(gateway, "ages");
  const command = `echo once >> ran; sleep ${limits.connectionMs / 1000 + 1}; echo it took its time`;
  replies.push({ toolCalls: [{ name: "laptop__Bash", arguments: { command } }] }, { text: "that was long" });
  expect(await conversation.send("take your time", () => {})).toMatchObject({ text: "that was long" });
  for (const count of reconnects) expect(count()).toBeGreaterThan(0);
  expect(await readFile(join(workspace, "ran"), "utf8")).toBe("once\n");
  expect(model.requests.at(-1)?.turns.at(-1)).toMatchObject({ role: "tool" });
  expect(model.requests.at(-1)?.turns.at(-1)?.text).toContain("it took its time");
  replies.push({ text: "and on it goes" });
  expect(await conversation.send("go on", () => {})).toMatchObject({ text: "and on it goes" });
});

it("pings detect a half-open connection, and the client looks up the answer that it missed", async () => {
  let answer = () => {};
  gate = new Promise((resolve) => {
    answer = resolve;
  });
  const line = await openLine(new URL(stack.cloud.ws));
  opened.push(line.close);
  const gateway = await openClient(line.url);
  const { connectionId } = gateway.hello.server;
  const reconnects = countConnects(gateway);
  replies.push({ text: "said while the line was dark" });
  const outcome = converse(gateway, "dark").send("hello", () => {});
  await until(() => model.requests.some(({ turns }) => turns.at(-1)?.text === "hello"), "the model is asked");
  line.darken();
  answer();
  expect(await outcome).toMatchObject({ status: "answered", text: "said while the line was dark" });
  expect(reconnects()).toBeGreaterThan(0);
  // The gateway saw no close. It drops the socket after the idle timeout.
  const record = () => readConnection(stack.table, connectionId, Date.now());
  await expect.poll(record, { interval: 200, message: "the record" }).toBeUndefined();
});

it("records of connections that vanished are deleted when they are used", async () => {
  const now = Date.now();
  const ghost = async (mode: "client" | "node", id: string) => {
    const connectionId = `gone-${id}`;
    const record = { connectionId, openedAt: now };
    await openConnection(stack.table, record);
    const tools = [{ name: "Bash", description: "runs", inputSchema: { type: "object" } }];
    const { id: tokenId } = await stack.createToken([mode]);
    const peer = { id, mode, connectionId, tokenId, connectedAt: now, version: "0", platform: "test" };
    await bindPeer(stack.table, record, { ...peer, ...(mode === "node" ? { tools } : {}) });
    return async () => [
      await readConnection(stack.table, connectionId, now),
      await readPeer(stack.table, mode, id, now),
    ];
  };
  const records = [await ghost("client", "ghost-client"), await ghost("node", "ghost-node")];
  replies.push(
    { toolCalls: [{ name: "ghost-node__Bash", arguments: { command: "ls" } }] },
    { text: "it is gone" },
  );
  const gateway = await openClient();
  expect(await converse(gateway, "ghosts").send("list", () => {})).toMatchObject({ text: "it is gone" });
  expect(model.requests.at(-1)?.turns.at(-1)?.text).toBe("Error: Node not connected: ghost-node");
  const [client, node] = records as [() => Promise<unknown>, () => Promise<unknown>];
  await expect.poll(client).toEqual([undefined, undefined]);
  // The record of the node's socket stays until its disconnect event, which notifies those who wait for the node.
  await expect.poll(node).toEqual([expect.objectContaining({ peerId: "ghost-node" }), undefined]);
});

/** A proxy on 127.0.0.1 to `target`. While it is dark, open connections carry no data but do not close. */
async function openLine(target: URL) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("data", (chunk) => to.write(chunk));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}${target.pathname}`,
    darken() {
      for (const socket of sockets) socket.removeAllListeners("data").resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
