import { afterAll, beforeAll, expect, it } from "vitest";
import { clientParams, nodeParams, openClient, Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ acceleration: 20 });
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
});

// The first socket never sends a token. Its schedule, accelerated, fires early, and only once.
it("closes a socket that does not send a token within ten seconds", async () => {
  const peer = await Peer.open(stack.cloud.ws);
  await until(() => peer.closed !== undefined, "the socket is closed");
});

it("refuses the upgrade with a wrong token", async () => {
  await expect(Peer.open(stack.cloud.ws, "gsv_aaaaaaaaaa_wrong")).rejects.toThrow("HTTP 401");
  await expect(Peer.open(stack.cloud.ws, stack.token.replace(/.$/, "!"))).rejects.toThrow("HTTP 401");
});

it("refuses to connect without a token, and closes the socket", async () => {
  const peer = await Peer.open(stack.cloud.ws);
  const answer = await peer.request("connect", clientParams("nobody"));
  expect(answer.error.code).toBe(401);
  await until(() => peer.closed !== undefined, "the socket is closed");
});

it("refuses to connect with a wrong token in the frame, and closes the socket", async () => {
  const peer = await Peer.open(stack.cloud.ws);
  const answer = await peer.request("connect", clientParams("nobody", "gsv_nothing"));
  expect(answer.error.code).toBe(401);
  await until(() => peer.closed !== undefined, "the socket is closed");
});

it("refuses a revoked token at once, on a new socket and on a connected one", async () => {
  const { id, token } = await stack.createToken(["client"]);
  const peer = await openClient(stack.cloud.ws, token, "short-lived");
  const owner = await stack.client("owner");
  expect(await owner.call("token.revoke", { id })).toEqual({ revoked: true, id });
  await expect(Peer.open(stack.cloud.ws, token)).rejects.toThrow("HTTP 401");
  await until(
    () => stack.logs.some((line) => line.event === "rpc" && line.method === "token.revoke"),
    "it is logged",
  );
  await until(() => peer.closed !== undefined, "its socket is closed");
  await owner.close();
});

it("limits each token to its scopes", async () => {
  const node = await stack.createToken(["node"]);
  const peer = await Peer.open(stack.cloud.ws, node.token);
  expect((await peer.request("connect", clientParams("as-client"))).error.code).toBe(403);
  await peer.call("connect", nodeParams("n1", ["Bash"]));
  expect((await peer.request("config.set", { path: "userTimezone", value: "UTC" })).error.code).toBe(403);
  expect((await peer.request("chat.send", { sessionKey: "main", message: "hi" })).error.code).toBe(403);
  const { token } = await stack.createToken(["client"]);
  const client = await openClient(stack.cloud.ws, token, "plain-client");
  expect((await client.request("config.set", { path: "userTimezone", value: "UTC" })).error).toMatchObject({
    code: 403,
    message: "config.set needs a token with the scope admin",
  });
  expect((await client.request("token.create", { name: "x" })).error.code).toBe(403);
  expect((await client.request("tool.result", { callId: "x" })).error.code).toBe(403);
  await client.close();
  await peer.close();
});

it("closes a socket after three failed connect frames", async () => {
  const peer = await Peer.open(stack.cloud.ws, stack.token);
  const wrong = { ...clientParams("x"), minProtocol: 9 };
  for (const round of [1, 2, 3])
    expect((await peer.request("connect", wrong)).error.code, `try ${round}`).toBe(102);
  await until(() => peer.closed !== undefined, "the socket is closed");
});

it("replaces an older socket with a newer one of the same id", async () => {
  const first = await stack.client("twice");
  const second = await stack.client("twice");
  await until(() => first.closed !== undefined, "the first is closed");
  expect((await second.request("tools.list")).ok).toBe(true);
  await second.close();
});
