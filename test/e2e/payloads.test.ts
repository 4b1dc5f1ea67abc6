import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Connection, type ConnectionOptions } from "../../cli/gateway/connection.ts";
import { maxShownResult } from "../../functions/agent/context/shorten.ts";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import type { ChatReply } from "../../shared/protocol/events.ts";
import { maxPayloadBytes, payloadCapability } from "../../shared/protocol/frames.ts";
import type { Bucket } from "../../shared/world/world.ts";
import type { AccessRequest } from "../aws/emulators/access.ts";
import { refusalOf } from "../cli/gateway/connection-bench.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { clientParams, nodeParams, Peer } from "../support/peer.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let bucket: Bucket;
let awsCalls: AccessRequest[];
/** The client of most tests. */
let client: Connection;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  model = await startOpenAiServer();
  stack = await startStack();
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
  bucket = openS3Bucket(stack.cloud.bucket);
  const { authorize } = stack.roles;
  stack.roles.authorize = (request) => {
    awsCalls.push(request);
    return authorize(request);
  };
  awsCalls = [];
  client = await connect("cli");
});
beforeEach(() => {
  awsCalls = [];
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  expect(stack.roles.refusals()).toEqual([]);
});
afterAll(async () => {
  await client?.close();
  await stack?.close();
  await model?.close();
});

const lettersOf = (length: number) => "0123456789abcdef".repeat(Math.ceil(length / 16)).slice(0, length);
const callsTo = (service: string) => awsCalls.filter(({ action }) => action.startsWith(`${service}:`));
const keysUnder = async (prefix: string) => (await bucket.list(prefix)).objects.map(({ key }) => key);

/** Closes a peer after its test. */
function keep<T extends { close(): Promise<void> }>(one: T): T {
  opened.push(one);
  return one;
}

/** Connects as the command line does, with large payloads announced. */
async function connect(id: string, options: Partial<ConnectionOptions> = {}): Promise<Connection> {
  const connection = new Connection({
    url: stack.cloud.ws,
    token: stack.token,
    client: { id, version: "0", platform: "test", mode: "client" },
    ...options,
  });
  await connection.open();
  return connection;
}

/** Connects a node whose only tool answers with `result`. */
async function connectNode(id: string, result: (args: unknown) => unknown): Promise<Connection> {
  const { client, tools, nodeRuntime } = nodeParams(id, ["Dump"]);
  const node = keep(await connect(id, { client, tools, nodeRuntime } as Partial<ConnectionOptions>));
  node.onEvent("tool.invoke", async ({ callId, args }) => {
    // The test may be over, and the node gone, before this is acknowledged.
    await node.request("tool.result", { callId, result: result(args) }).catch(() => undefined);
  });
  return node;
}

/** Sends a message and waits for its answer. Rejects when the run fails. */
async function turn(client: Connection, sessionKey: string, message: string) {
  const ended = new Promise<ChatReply>((resolve, reject) => {
    client.onEvent("chat", (event) => {
      if (event.sessionKey !== `agent:main:${sessionKey}`) return;
      if (event.state === "final") resolve(event);
      if (event.state === "error") reject(new Error(event.error));
    });
  });
  await client.request("chat.send", { sessionKey, message });
  return ended;
}

/** A raw peer that announces large payloads but does not resolve refs. */
async function rawPeer(id: string, capabilities?: string[]): Promise<Peer> {
  const peer = await Peer.open(stack.cloud.ws, stack.token);
  await peer.call("connect", { ...clientParams(id), capabilities });
  return peer;
}

async function upload(peer: Peer, params: unknown): Promise<string> {
  const body = JSON.stringify(params);
  const { ref, url } = await peer.call<{ ref: string; url: string }>("payload.upload", {
    bytes: Buffer.byteLength(body),
  });
  expect((await fetch(url, { method: "PUT", body })).status).toBe(200);
  return ref;
}

let nextId = 1;
async function sendByRef(peer: Peer, method: string, paramsRef: unknown) {
  const id = `ref-${nextId++}`;
  peer.send({ type: "req", id, method, paramsRef });
  return peer.response(id);
}

describe("for a peer that announced large payloads", () => {
  it("stores a tool result of 5 MB in the transcript, and shows the model its start and end", async () => {
    const output = `BEGIN ${lettersOf(5_000_000)} END`;
    await connectNode("big", () => output);
    model.queue({ toolCalls: [{ name: "big__Dump", arguments: {} }] }, { text: "That was long." });
    expect(await turn(client, "large-result", "dump it")).toMatchObject({ state: "final" });

    const shown = model.requests.at(-1)?.turns.find(({ role }) => role === "tool")?.text ?? "";
    expect(shown.length).toBeLessThanOrEqual(maxShownResult);
    expect(shown.length).toBeGreaterThan(maxShownResult - 100);
    expect(shown).toMatch(/^BEGIN [\s\S]*characters left out[\s\S]* END$/);

    const preview = await client.request("session.preview", { sessionKey: "large-result" });
    const { messages } = preview as { messages: { role: string; content: { text: string }[] }[] };
    expect(messages.find(({ role }) => role === "toolResult")?.content[0]?.text).toBe(output);
    expect(await keysUnder("agents/main/sessions/")).toHaveLength(1);

    await client.request("session.reset", { sessionKey: "large-result" });
    expect((await keysUnder("agents/main/sessions/")).filter((key) => key.includes("/messages/"))).toEqual(
      [],
    );
  });

  it("writes and reads a workspace file of 2 MB", async () => {
    const content = `${"é".repeat(1_048_000)}end`;
    const written = await client.request("workspace.write", { path: "large.txt", content });
    expect(written).toMatchObject({ path: "large.txt", size: Buffer.byteLength(content) });
    const read = await client.request("workspace.read", { path: "large.txt" });
    expect((read as { content: string }).content).toBe(content);
    expect(await keysUnder("payloads/in/")).toEqual([]);
  });

  it("delivers a long preview and a long answer whole", async () => {
    const texts = ["a", "b", "c"].map((letter) => `${letter} ${lettersOf(100_000)}`);
    for (const text of texts) {
      model.queue({ text: [text] });
      await turn(client, "long", "tell me more");
    }
    const answer = lettersOf(400_000);
    model.queue({ text: [answer] });
    const final = await turn(client, "long", "tell me everything");
    expect(final.message).toMatchObject({ content: [{ type: "text", text: answer }] });
    expect(final.truncated).toBeUndefined();
    const preview = await client.request("session.preview", { sessionKey: "long" });
    const { messages } = preview as { messages: { content: { text: string }[] }[] };
    expect(messages).toHaveLength(8);
    expect(messages.slice(1).map(({ content }) => content[0]?.text)).toEqual(
      expect.arrayContaining([...texts, answer]),
    );
  });

  it("passes a tool call with large arguments to its node, and its large result back", async () => {
    await connectNode("echo", (args) => args);
    const args = { text: lettersOf(1_500_000) };
    expect(await client.request("tool.invoke", { tool: "echo__Dump", args })).toEqual({ result: args });
  });

  it("answers several such calls in parallel, each with its own result", async () => {
    await connectNode("echo", (args) => args);
    const calls = [1, 2, 3, 4].map(async (n) => {
      const args = { n, text: lettersOf(200_000 * n) };
      expect(await client.request("tool.invoke", { tool: "echo__Dump", args })).toEqual({ result: args });
    });
    await Promise.all(calls);
  });

  it("refuses more than the maximum payload with 413 before an upload", async () => {
    const content = lettersOf(maxPayloadBytes);
    const refusal = await refusalOf(client.request("workspace.write", { path: "x", content }));
    expect(refusal).toMatchObject({ code: 413, message: expect.stringContaining(String(maxPayloadBytes)) });
    expect(callsTo("s3").filter(({ resource }) => resource.includes("/payloads/"))).toEqual([]);
  });

  it("refuses a chat message that exceeds an inbox with 413 and a remedy", async () => {
    const message = lettersOf(1_000_000);
    const refusal = await refusalOf(client.request("chat.send", { sessionKey: "main", message }));
    expect(refusal).toMatchObject({ code: 413, message: expect.stringContaining("workspace file") });
  });
});

describe("for a peer that did not announce them", () => {
  it("answers with 413 if the response is too large, and keeps the connection", async () => {
    await client.request("workspace.write", { path: "large.txt", content: lettersOf(300_000) });
    const peer = keep(await rawPeer("old-client"));
    const { ok, error } = await peer.request("workspace.read", { path: "large.txt" });
    expect({ ok, code: error.code }).toEqual({ ok: false, code: 413 });
    expect(await peer.call("workspace.read", { path: "missing" }).catch(String)).toContain("404");
    expect(callsTo("s3").filter(({ resource }) => resource.includes("/payloads/out/"))).toEqual([]);
  });

  it("shortens an event that is too large, says so, and sends it whole to other peers", async () => {
    const peer = keep(await rawPeer("old-client"));
    const answer = lettersOf(300_000);
    model.queue({ text: [answer] });
    const final = await turn(client, "cut", "tell me everything");
    expect(final.message).toMatchObject({ content: [{ text: answer }] });
    const cut = await peer.event((payload) => payload.state === "final", "the run ends");
    expect(cut.truncated).toBe(true);
    expect(JSON.stringify(cut.message)).toContain("too long for one event");
  });

  it("reports large arguments for its tool to the caller as an error", async () => {
    const node = keep(await Peer.open(stack.cloud.ws, stack.token));
    await node.call("connect", nodeParams("old-node", ["Dump"]));
    const args = { text: lettersOf(200_000) };
    const refusal = await refusalOf(client.request("tool.invoke", { tool: "old-node__Dump", args }));
    expect(refusal.code).toBe(413);
  });
});

describe("a ref to uploaded params", () => {
  let peer: Peer;
  beforeAll(async () => {
    peer = await rawPeer("raw", [payloadCapability]);
  });
  afterAll(() => peer?.close());
  const params = { path: "by-ref.txt", content: "written by reference" };

  it("works once", async () => {
    const ref = await upload(peer, params);
    expect(await sendByRef(peer, "workspace.write", ref)).toMatchObject({ ok: true });
    expect(await peer.call("workspace.read", { path: params.path })).toMatchObject({
      content: params.content,
    });
    expect(await sendByRef(peer, "workspace.write", ref)).toMatchObject({ ok: false, error: { code: 404 } });
  });

  it("is unknown on another connection, and does not delete the params", async () => {
    const other = keep(await rawPeer("other", [payloadCapability]));
    const ref = await upload(peer, params);
    expect(await sendByRef(other, "workspace.write", ref)).toMatchObject({ ok: false, error: { code: 404 } });
    expect(await sendByRef(peer, "workspace.write", ref)).toMatchObject({ ok: true });
  });

  it("without an upload is a 404", async () => {
    const { ref } = await peer.call("payload.upload", { bytes: 200_000 });
    expect(await sendByRef(peer, "workspace.write", ref)).toMatchObject({ ok: false, error: { code: 404 } });
  });

  it.each(["../../agents/main/SOUL", "", "a", `${"0".repeat(8)}-0000-0000-0000-${"0".repeat(12)}/..`, 7])(
    "that is %j leads nowhere",
    async (ref) => {
      awsCalls = [];
      expect(await sendByRef(peer, "workspace.write", ref)).toMatchObject({
        ok: false,
        error: { code: 400 },
      });
      expect(callsTo("s3").filter(({ resource }) => resource.includes("/payloads/"))).toEqual([]);
    },
  );

  it("leads to params that are validated like any others", async () => {
    const wrong = await upload(peer, { path: 7 });
    expect(await sendByRef(peer, "workspace.write", wrong)).toMatchObject({ error: { code: 400 } });
    const forbidden = await upload(peer, { callId: "x", result: 1 });
    expect(await sendByRef(peer, "tool.result", forbidden)).toMatchObject({ error: { code: 403 } });
  });
});

describe("a presigned URL", () => {
  const expiry = (url: string) => Number(new URL(url).searchParams.get("X-Amz-Expires"));
  /** Changes the URL as if it had been made that many seconds ago. */
  const madeBefore = (url: string, seconds: number) => {
    const old = new URL(url);
    const at = new Date(Date.now() - seconds * 1000).toISOString().replace(/[-:]|\.\d+/g, "");
    old.searchParams.set("X-Amz-Date", at);
    return old;
  };

  it("for uploads is valid for five minutes, for the announced length, below the peer's own prefix", async () => {
    const peer = keep(await rawPeer("raw", [payloadCapability]));
    const { ref, url } = await peer.call<{ ref: string; url: string }>("payload.upload", { bytes: 5 });
    expect(expiry(url)).toBe(300);
    expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host");
    expect(new URL(url).pathname).toMatch(new RegExp(`/payloads/in/[^/]+/${ref}\\.json$`));
    const late = await fetch(madeBefore(url, 301), { method: "PUT", body: "false" });
    expect(late.status).toBe(403);
  });

  it("for downloads is valid for five minutes", async () => {
    await client.request("workspace.write", { path: "large.txt", content: lettersOf(300_000) });
    const peer = keep(await rawPeer("raw", [payloadCapability]));
    peer.send({ type: "req", id: "big", method: "workspace.read", params: { path: "large.txt" } });
    const head = await peer.response("big");
    const { url, bytes } = (head as unknown as { payloadRef: { url: string; bytes: number } }).payloadRef;
    expect(head).toEqual({ type: "res", id: "big", ok: true, payloadRef: { url, bytes } });
    expect(expiry(url)).toBe(300);
    const whole = await (await fetch(url)).text();
    expect(Buffer.byteLength(whole)).toBe(bytes);
    expect(JSON.parse(whole)).toMatchObject({ type: "res", id: "big", ok: true });
    expect((await fetch(madeBefore(url, 301))).status).toBe(403);
  });
});

describe("a turn whose frames fit", () => {
  it("does not use the bucket, even if its peers announced large payloads", async () => {
    const peer = keep(await rawPeer("small", [payloadCapability]));
    const node = keep(await Peer.open(stack.cloud.ws, stack.token));
    await node.call("connect", { ...nodeParams("small", ["Dump"]), capabilities: [payloadCapability] });
    node.onEvent(({ payload }) => {
      const { callId } = payload as { callId: string };
      void node.request("tool.result", { callId, result: "small" });
    });
    model.queue({ toolCalls: [{ name: "small__Dump", arguments: {} }] }, { text: ["done"] });
    const { runId } = await peer.call("chat.send", { sessionKey: "small", message: "hello" });
    expect(await peer.ended(String(runId))).toMatchObject({ state: "final" });
    expect(callsTo("dynamodb")).not.toEqual([]);
    // The first reply stores the system prompt that it was made from.
    const puts = callsTo("s3").filter(({ action }) => action === "s3:PutObject");
    expect(puts.filter(({ resource }) => !resource.includes("/agents/main/objects/"))).toEqual([]);
    expect(callsTo("s3").filter(({ resource }) => resource.includes("/payloads/"))).toEqual([]);
  });
});
