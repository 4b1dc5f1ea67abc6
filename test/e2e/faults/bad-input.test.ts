import { afterAll, beforeAll, expect, it } from "vitest";
import { clientParams, nodeParams, Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let client: Peer;
beforeAll(async () => {
  stack = await startStack();
  client = await stack.client();
});
afterAll(async () => {
  // The gateway still answers after all of this.
  expect((await client.request("tools.list")).ok).toBe(true);
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
});

/** A round trip: everything sent before it has been handled. */
const roundTrip = async (peer: Peer) => expect((await peer.request("tools.list")).ok).toBe(true);

it.each(["not json", "[]", "null", '"text"', '{"type":"what"}', "{}", '{"type":"evt"}'])(
  "ignores %s and keeps the connection",
  async (text) => {
    const before = client.responses.length;
    client.send(text);
    await roundTrip(client);
    expect(client.responses.length).toBe(before + 1);
  },
);

it("answers a request without an id with 400", async () => {
  client.send({ type: "req", method: "tools.list" });
  expect((await client.response("")).error).toEqual({
    code: 400,
    message: "id: expected a non-empty string",
  });
});

it("answers an unknown method with 404", async () => {
  expect((await client.request("no.such.method")).error).toEqual({
    code: 404,
    message: "unknown method: no.such.method",
  });
});

it.each([
  ["chat.send", { message: "hi" }, "sessionKey"],
  ["chat.send", { sessionKey: "main", message: 7 }, "message"],
  ["chat.send", undefined, "params"],
  ["logs.get", { lines: "many" }, "lines"],
  ["session.patch", { sessionKey: "main", resetPolicy: { mode: "weekly" } }, "resetPolicy.mode"],
  ["session.patch", { sessionKey: "main", settings: { modle: {} } }, "settings.modle"],
  ["config.set", { path: "userTimezone", value: "Mars/Olympus" }, "userTimezone"],
  ["config.set", { path: "no.such.key", value: 1 }, "no"],
])("answers wrong params of %s with a 400 that names the field", async (method, params, field) => {
  const { error } = await client.request(method, params);
  expect(error.code).toBe(400);
  expect(error.message).toContain(field);
});

it("closes a connection that sends a message of 129 KB, and no other", async () => {
  const peer = await stack.client("too-large");
  peer.send({
    type: "req",
    id: "1",
    method: "chat.send",
    params: { sessionKey: "main", message: "x".repeat(129 * 1024) },
  });
  await until(() => peer.closed !== undefined, "it is closed");
  expect(peer.closed?.code).toBe(1009);
  await roundTrip(client);
});

it("closes a connection that sends a binary frame with 1003", async () => {
  const peer = await stack.client("binary");
  peer.socket.send(Buffer.from([1, 2, 3]));
  await until(() => peer.closed !== undefined, "it is closed");
  expect(peer.closed?.code).toBe(1003);
});

it("survives a message of 10 MB", async () => {
  const peer = await stack.client("huge");
  peer.send("y".repeat(10 * 1024 * 1024));
  await until(() => peer.closed !== undefined, "it is closed");
  await roundTrip(client);
});

it("answers requests before connect with 101, and keeps the socket", async () => {
  const peer = await Peer.open(stack.cloud.ws, stack.token);
  expect((await peer.request("tools.list")).error.code).toBe(101);
  expect((await peer.request("no.such.method")).error.code).toBe(101);
  await peer.call("connect", clientParams("late"));
  await roundTrip(peer);
  await peer.close();
});

it("answers a second connect with 409, and keeps the socket", async () => {
  expect((await client.request("connect", clientParams("again"))).error.code).toBe(409);
  await roundTrip(client);
});

it("answers a bad connect with the code of its error", async () => {
  const peer = () => Peer.open(stack.cloud.ws, stack.token);
  const code = async (params: unknown) => (await (await peer()).request("connect", params)).error.code;
  const node = nodeParams("n", ["Bash"]);
  const ofRuntime = (runtime: object) => ({ ...node, nodeRuntime: { ...node.nodeRuntime, ...runtime } });
  expect(await code({ ...clientParams("x"), minProtocol: 2 })).toBe(102);
  expect(await code({ ...clientParams("x"), client: { id: "x", mode: "robot" } })).toBe(103);
  expect(await code({ ...clientParams("x"), client: { id: "x", mode: "channel" } })).toBe(103);
  expect(await code({ ...node, tools: [] })).toBe(103);
  expect(await code({ ...node, nodeRuntime: undefined })).toBe(103);
  expect(await code(ofRuntime({ hostRole: "king" }))).toBe(103);
  expect(await code(ofRuntime({ hostCapabilities: ["filesystem.list"] }))).toBe(103);
  expect(await code(ofRuntime({ hostCapabilities: ["teleport"] }))).toBe(103);
  expect(await code(ofRuntime({ toolCapabilities: {} }))).toBe(103);
  expect(await code({ ...node, nodeRuntime: {} })).toBe(103);
  expect(await code({})).toBe(400);
});

it("answers a result for an unknown call with 404", async () => {
  const node = await stack.node("n1", { Bash: () => undefined });
  for (const callId of ["nonsense", "s.e30", "s.WyJhIiwiYiIsImMiXQ"]) {
    expect((await node.request("tool.result", { callId, result: 1 })).error.code).toBe(404);
  }
  expect((await node.request("tool.result", {})).error.code).toBe(400);
  await node.close();
});

it("answers with 413 if a response exceeds the size of a frame", async () => {
  // In frames of at most 32 KB, as GSV's nodes send them.
  const content = "z".repeat(60 * 1024);
  const write = async (path: string) => {
    const text = JSON.stringify({
      type: "req",
      id: path,
      method: "workspace.write",
      params: { path, content },
    });
    client.socket.send(text.slice(0, 30_000), { fin: false });
    client.socket.send(text.slice(30_000, 60_000), { fin: false });
    client.socket.send(text.slice(60_000));
    return client.response(path);
  };
  expect((await write("big.md")).ok).toBe(true);
  expect((await client.request("workspace.read", { path: "big.md" })).ok).toBe(true);
});
