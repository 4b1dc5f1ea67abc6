import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { nodeParams, Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let client: Peer;
beforeAll(async () => {
  model = await startOpenAiServer();
  stack = await startStack({ acceleration: 20 });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "timeouts.toolMs": 3000,
  });
});
beforeEach(async () => {
  client = await stack.client();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

const callsBash = (text: string) => [
  { toolCalls: [{ name: "laptop__Bash", arguments: { command: "sleep" } }] },
  { text },
];
const toolTurns = () => model.requests.at(-1)?.turns.filter((turn) => turn.role === "tool") ?? [];

it("reports a timeout to the model when a node vanishes during a call, and drops the late result", async () => {
  let callId = "";
  const node = await stack.node("laptop", {
    Bash: (_args, id) => {
      callId = id;
      return undefined;
    },
  });
  model.queue(...callsBash("it timed out"));
  await client.call("chat.send", { sessionKey: "vanish", message: "go", runId: "vanish" });
  await until(() => callId !== "", "the node has the call");
  await node.close();
  const end = await client.ended("vanish");
  expect(end.state).toBe("final");
  expect(toolTurns()[0]?.text).toContain("did not answer in time");
  const before = await client.call("session.preview", { sessionKey: "vanish" });
  const back = await stack.node("laptop", { Bash: () => undefined });
  expect(await back.call("tool.result", { callId, result: "too late" })).toEqual({ ok: true, dropped: true });
  expect(await client.call("session.preview", { sessionKey: "vanish" })).toEqual(before);
  await back.close();
});

it("ends a call long before its deadline when its node does not come back, and says so", async () => {
  let callId = "";
  const node = await stack.node("laptop", {
    Bash: (_args, id) => {
      callId = id;
      return undefined;
    },
  });
  model.queue(...callsBash("it left"));
  await stack.configure({ "timeouts.toolMs": 1_200_000 });
  await new Promise((resolve) => setTimeout(resolve, 5_100));
  await client.call("chat.send", { sessionKey: "leave", message: "go", runId: "leave" });
  await until(() => callId !== "", "the node has the call");
  node.socket.terminate();
  expect((await client.ended("leave")).state).toBe("final");
  expect(toolTurns()[0]?.text).toContain("the machine disconnected during the call");
});

it("uses the first result of a node that reconnects during a call", async () => {
  let callId = "";
  const node = await stack.node("laptop", {
    Bash: (_args, id) => {
      callId = id;
      return undefined;
    },
  });
  model.queue(...callsBash("got it"));
  await client.call("chat.send", { sessionKey: "return", message: "go", runId: "return" });
  await until(() => callId !== "", "the node has the call");
  node.socket.terminate();
  await until(() => node.closed !== undefined, "it is gone");
  const back = await Peer.open(stack.cloud.ws, stack.token);
  await back.call("connect", nodeParams("laptop", ["Bash"]));
  expect(await back.call("tool.result", { callId, result: "done" })).toEqual({ ok: true });
  expect(await back.call("tool.result", { callId, result: "again" })).toEqual({ ok: true, dropped: true });
  await client.ended("return");
  expect(toolTurns().at(-1)?.text).toBe("done");
  const other = await stack.node("server", { Bash: () => undefined });
  expect((await other.request("tool.result", { callId, result: "not mine" })).ok).toBe(true);
  await other.close();
  await back.close();
});

it("answers a client's own call with 503 when the node leaves, and with the node's error when it fails", async () => {
  const node = await stack.node("laptop", { Bash: () => undefined, Read: () => ({ content: "text" }) });
  expect(await client.call("tool.invoke", { tool: "laptop__Read", args: { path: "x" } })).toEqual({
    result: { content: "text" },
  });
  expect((await client.request("tool.invoke", { tool: "laptop__Nothing" })).error.code).toBe(404);
  const waiting = client.request("tool.invoke", { tool: "laptop__Bash", args: {} });
  await until(() => node.calls.length === 2, "the node has the call");
  node.socket.terminate();
  expect((await waiting).error).toMatchObject({ code: 503, retryable: true });
  expect((await client.request("logs.get", {})).error.code).toBe(503);
});

it("stops a running model call, and a run that waits for tools", async () => {
  model.queue({ text: ["thinking"], hang: true });
  await client.call("chat.send", { sessionKey: "stop", message: "go", runId: "stop-model" });
  await until(() => model.active() === 1, "the model is called");
  const stopped = await client.call("chat.send", { sessionKey: "stop", message: "/stop" });
  expect(stopped).toMatchObject({ status: "command", command: "stop", response: "Stopped run stop-model." });
  expect(await client.ended("stop-model")).toMatchObject({ state: "error", error: "Run cancelled by user" });
  await until(() => model.aborted() === 1, "the provider's request is aborted");

  const node = await stack.node("laptop", { Bash: () => undefined });
  model.queue({ toolCalls: [{ name: "laptop__Bash", arguments: {} }] });
  await client.call("chat.send", { sessionKey: "stop", message: "go", runId: "stop-tools" });
  await until(() => node.calls.length === 1, "the node has the call");
  await expect
    .poll(async () => (await client.call("chat.send", { sessionKey: "stop", message: "/stop" })).response)
    .toBe("Stopped run stop-tools, cancelled 1 pending tool(s).");
  expect(await client.ended("stop-tools")).toMatchObject({ state: "error" });
  // The unanswered call is repaired: the next request is valid for the provider.
  model.queue({ text: "fine" });
  await client.call("chat.send", { sessionKey: "stop", message: "still there?", runId: "after" });
  expect(await client.ended("after")).toMatchObject({ state: "final" });
  expect(await client.call("chat.send", { sessionKey: "stop", message: "/stop" })).toMatchObject({
    response: "No run in progress.",
  });
  await node.close();
});
