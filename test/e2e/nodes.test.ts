import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type RunningNode, startNode } from "../../cli/node/node-runtime.ts";
import type { TransferStatus } from "../../shared/protocol/results.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

/** Nodes with the deployed bundles: file transfers, background commands, and heartbeats. */

let stack: Stack;
let model: ModelServer;
let client: Peer;
let root: string;
const nodes: RunningNode[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gsv-nodes-"));
  model = await startOpenAiServer();
  stack = await startStack({ acceleration: 60 });
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
  client = await stack.client("cli");
  for (const nodeId of ["laptop", "pi"]) nodes.push(await connected(nodeId));
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  for (const node of nodes) await node.stop();
  await stack?.close();
  await model?.close();
  await rm(root, { recursive: true, force: true });
});

/** Starts a node as `gsv node` does. */
async function connected(nodeId: string): Promise<RunningNode> {
  const workspace = join(root, nodeId);
  await mkdir(workspace);
  const journalFolder = join(root, `${nodeId}-journal`);
  const options = { url: stack.cloud.ws, token: stack.token, nodeId, workspace, journalFolder, version: "0" };
  const node = startNode(options);
  await node.connection.open();
  return node;
}

/** Sends requests that must be refused, each with its code and a part of its message. */
async function expectRefusals(refusals: readonly [string, object, number, string][]): Promise<void> {
  for (const [method, params, code, message] of refusals) {
    const { error } = await client.request(method, params);
    expect([error?.code, error?.message], method).toEqual([code, expect.stringContaining(message)]);
  }
}

async function expectClientsOnly(methods: readonly string[]): Promise<void> {
  const node = await stack.node("other", { Bash: () => undefined });
  for (const method of methods) expect((await node.request(method, {})).error?.code, method).toBe(403);
  await node.close();
}

async function copied(source: string, destination: string): Promise<TransferStatus> {
  const opened = await client.call<TransferStatus>("transfer.open", { source, destination });
  const status = () => client.call<TransferStatus>("transfer.status", { transferId: opened.transferId });
  const isOver = expect.poll(async () => (await status()).status, { interval: 200, message: source });
  await isOver.not.toBe("running");
  return status();
}

it("files are copied between nodes, to the workspace and back, in parts through the bucket", async () => {
  const bytes = randomBytes(9 * 2 ** 20);
  await writeFile(join(root, "laptop/a.bin"), bytes);
  const size = bytes.length;
  expect(await copied("laptop:a.bin", "pi:new/b.bin")).toMatchObject({
    status: "done",
    size,
    received: size,
  });
  expect(await copied("pi:new/b.bin", "gsv:c.bin")).toMatchObject({ status: "done", size });
  expect(await copied("gsv:c.bin", "laptop:back.bin")).toMatchObject({ status: "done", size });
  expect((await readFile(join(root, "laptop/back.bin"))).equals(bytes)).toBe(true);
  expect(await copied("laptop:none.bin", "pi:d.bin")).toMatchObject({
    status: "failed",
    error: expect.stringContaining("none.bin"),
  });
});

it("the methods of transfers answer clients only, and reject unknown and invalid params", async () => {
  const gone = { transferId: 4_294_967_295 };
  await expectRefusals([
    ["transfer.open", { source: "laptop:a.bin" }, 400, "destination"],
    ["transfer.open", { source: "nowhere:a.bin", destination: "pi:a" }, 503, "nowhere"],
    ["transfer.status", gone, 404, "transfer"],
    ["transfer.cancel", gone, 404, "transfer"],
    ["transfer.part", { ...gone, part: 0 }, 404, "transfer"],
    ["transfer.status", {}, 400, "transferId"],
  ]);
  await stack.node("old", { Bash: () => undefined });
  await expectRefusals([["transfer.open", { source: "laptop:a.bin", destination: "old:a.bin" }, 400, "old"]]);
  await expectClientsOnly(["transfer.open", "transfer.status", "transfer.cancel"]);
});

it("a background command reports its exit to its session, once", async () => {
  const sessionKey = "agent:main:background";
  const bash = { name: "laptop__Bash", arguments: { command: "sleep 1; echo late", background: true } };
  model.queue({ toolCalls: [bash] }, { text: "it runs" }, { text: "it has ended" });
  const { runId } = await client.call("chat.send", { sessionKey, message: "build it" });
  const first = await client.ended(String(runId));
  expect(first).toMatchObject({ state: "final", message: { content: [{ text: "it runs" }] } });
  const second = await client.event(
    (payload, event) =>
      event === "chat" &&
      payload.sessionKey === sessionKey &&
      payload.state === "final" &&
      payload.runId !== runId,
    "the end wakes the agent",
  );
  expect(second).toMatchObject({ message: { content: [{ text: "it has ended" }] } });
  const asked = model.requests.at(-1)?.turns.at(-1)?.text ?? "";
  expect(asked).toContain("late");
  await expectRefusals([["node.exec.event", {}, 403, "node"]]);
});

it("a heartbeat is turned on, triggered, silent when it has no news, and turned off", async () => {
  type Status = { agents: Record<string, { lastHeartbeatText: string | null }> };
  const main = async () => (await client.call<Status>("heartbeat.status")).agents.main;
  expect(await main()).toMatchObject({ on: false, nextHeartbeatAt: null, everyMs: 1_800_000 });
  expect(await client.call("heartbeat.start", { agentId: "main" })).toMatchObject({
    message: "Heartbeat on for main.",
    agents: { main: { on: true, nextHeartbeatAt: expect.any(Number) } },
  });
  await client.call("workspace.write", { path: "HEARTBEAT.md", content: "Look at the build." });
  const asked = model.requests.length;
  model.queue({ text: "HEARTBEAT_OK" });
  expect(await client.call("heartbeat.trigger", { agentId: "main" })).toMatchObject({ ok: true });
  await until(async () => (await main())?.lastHeartbeatText === "HEARTBEAT_OK", "the beat has ended");
  expect(model.requests.length).toBe(asked + 1);
  expect(await client.call("heartbeat.stop", {})).toMatchObject({ agents: { main: { on: false } } });
  await expectRefusals([
    ["heartbeat.start", { agentId: "mian" }, 404, "there is no agent mian"],
    ["heartbeat.stop", { agentId: "mian" }, 404, "there is no agent mian"],
    ["heartbeat.trigger", { agentId: "mian" }, 404, "there is no agent mian"],
    ["heartbeat.start", { agentId: 7 }, 400, "agentId"],
  ]);
  await expectClientsOnly(["heartbeat.status", "heartbeat.start", "heartbeat.stop", "heartbeat.trigger"]);
});
