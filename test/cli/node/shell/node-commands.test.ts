import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RunningNode, startNode } from "../../../../cli/node/node-runtime.ts";
import { type LocalGateway, startLocalGateway } from "../../../../local/in-process-gateway.ts";
import { openConfiguration } from "../../../../shared/configuration/store.ts";
import { createToken } from "../../../../shared/peers/tokens.ts";
import { textOf } from "../../../../shared/protocol/messages.ts";
import { readSession } from "../../../../shared/session/sessions.ts";
import { readMessages } from "../../../../shared/session/transcript.ts";
import { startOpenAiServer } from "../../../support/models/openai-server.ts";
import type { ModelServer } from "../../../support/models/scripted-model.ts";
import { openClient, type Peer } from "../../../support/peer.ts";
import { until } from "../../../support/until.ts";
import { processesNamed, uniqueSleep, withEmptyHome } from "../processes.ts";

withEmptyHome();

let gateway: LocalGateway;
let model: ModelServer;
let node: RunningNode;
let client: Peer;
let clientToken: string;
let folder: string;
let sleep: string;
let sessionKey: string;
let runs = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gsv-stopped-"));
  gateway = await startLocalGateway({ dir: join(folder, "data"), log: () => {} });
  // Calls Bash with the arguments in the last message.
  model = await startOpenAiServer(({ turns }) => {
    const last = turns.at(-1)!;
    if (last.text.includes("System event")) return { text: "so it ended" };
    return last.role === "tool"
      ? { text: "so be it" }
      : { toolCalls: [{ name: "laptop__Bash", arguments: last.text }] };
  });
  const { table, secrets } = gateway.world;
  const configuration = openConfiguration(table, secrets);
  await configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const tokenOf = async (scope: "node" | "client") =>
    (await createToken(table, { name: scope, scopes: [scope] }, Date.now())).token;
  clientToken = await tokenOf("client");
  client = await openClient(gateway.ws, clientToken);
  const identity = { url: gateway.ws, token: await tokenOf("node"), nodeId: "laptop", version: "0" };
  node = startNode({ ...identity, workspace: folder });
  await node.connection.open();
});
afterAll(async () => {
  await node?.stop();
  await client?.close();
  await gateway?.close();
  await model?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  sleep = uniqueSleep();
  sessionKey = `agent:main:stop-${++runs}`;
  rmSync(late(), { force: true });
});

const late = () => join(folder, "late.txt");
const isRunning = () => processesNamed(sleep).length > 0;
const state = async () => (await readSession(gateway.world.table, sessionKey))!;
const isOver = () => until(() => !isRunning(), "nothing of the command runs");

/** The results of the model's calls, as text. */
async function results(): Promise<string[]> {
  const messages = await readMessages(gateway.world, await state());
  return messages.filter(({ role }) => role === "toolResult").map(textOf);
}

/** Starts a run whose model calls Bash. @returns its id, once the command runs */
async function running(args: Record<string, unknown>, isPending = true): Promise<string> {
  const runId = randomUUID();
  await client.call("chat.send", { sessionKey, message: JSON.stringify(args), runId });
  await until(isRunning, "the command runs");
  if (isPending) await until(async () => (await state()).owner === undefined, "nothing runs in AWS");
  return runId;
}

const stop = () => client.call("chat.send", { sessionKey, message: "/stop" });

describe("a stop kills on the machine", () => {
  it.each([
    ["a command, before it writes its file", () => `${sleep}; date > late.txt`],
    ["what the command's children have started", () => `sh -c 'sh -c "${sleep}; date > late.txt" & wait'`],
    ["a command that ignores SIGTERM", () => `trap '' TERM; ${sleep}; date > late.txt`],
  ])("%s", async (_what, command) => {
    const runId = await running({ command: command() });
    expect((await stop()).response).toBe(`Stopped run ${runId}, cancelled 1 pending tool(s).`);
    expect(await client.ended(runId)).toMatchObject({ error: "Run cancelled by user" });
    await isOver();
    expect(existsSync(late())).toBe(false);
    expect(await results()).toEqual(["Error: stopped by the user; its machine was asked to cancel it"]);
  });

  it("no command that an earlier call left in the background", async () => {
    const background = sleep;
    const runId = await running({ command: `${sleep}; date > late.txt`, background: true }, false);
    await client.ended(runId);
    sleep = uniqueSleep();
    const next = await running({ command: sleep });
    await stop();
    await client.ended(next);
    await isOver();
    expect(processesNamed(background)).not.toEqual([]);
  });
});

it.each([
  ["started in the background", { background: true }],
  ["left in the background after yieldMs", { yieldMs: 10 }],
])("the end of a command %s wakes the idle session", async (_how, how) => {
  const gate = `go-${runs}`;
  const wait = `until [ -e ${gate} ]; do sleep 0.02; done`;
  const runId = randomUUID();
  const args = { command: `${wait}; echo built`, ...how };
  await client.call("chat.send", { sessionKey, message: JSON.stringify(args), runId });
  await client.ended(runId);
  await until(async () => (await state()).owner === undefined, "the session is idle");
  writeFileSync(join(folder, gate), "");
  const isEnd = ({ sessionKey: key, state: at, runId: id }: Record<string, unknown>) =>
    key === sessionKey && at === "final" && id !== runId;
  await client.event(isEnd, "the agent says how it ended");
  const messages = await readMessages(gateway.world, await state());
  expect(messages.slice(-2).map(textOf)).toEqual([
    expect.stringContaining('"outputTail":"built'),
    "so it ended",
  ]);
});

it("a call that times out is killed on the machine, and the model receives the reason", async () => {
  const runId = await running({ command: `${sleep}; date > late.txt` });
  const { step, deadline } = (await state()).run!;
  await gateway.fire("timer", { kind: "tool-timeout", sessionKey, runId, step, deadline });
  await client.ended(runId);
  await isOver();
  expect(existsSync(late())).toBe(false);
  expect(await results()).toEqual([
    expect.stringMatching(/^Error: the tool did not answer in time .* was asked to cancel it/),
  ]);
});

it("a call that a client made is cancelled when that client disconnects, and no other client's call is", async () => {
  const leaving = await openClient(gateway.ws, clientToken, "leaving");
  const others = uniqueSleep();
  const call = (command: string) => ({ tool: "laptop__Bash", args: { command } });
  leaving.send({ type: "req", id: "call", method: "tool.invoke", params: call(`${sleep}; date > late.txt`) });
  client.send({ type: "req", id: "other", method: "tool.invoke", params: call(others) });
  await until(() => isRunning() && processesNamed(others).length > 0, "both run");
  await leaving.close();
  await isOver();
  expect(existsSync(late())).toBe(false);
  expect(processesNamed(others)).not.toEqual([]);
});
