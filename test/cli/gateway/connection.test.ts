import { describe, expect, it } from "vitest";
import { backoffDelay } from "../../../cli/gateway/backoff.ts";
import { RequestError } from "../../../cli/gateway/connection.ts";
import { until } from "../../support/until.ts";
import { hello } from "../test-gateway.ts";
import { connectionBench, refusalOf } from "./connection-bench.ts";

const { gatewayFor, connectionTo } = connectionBench();

describe("a connection introduces itself", () => {
  it("sends the token in the header and in the connect frame, never in the url", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(`${gateway.url}/ws`);
    expect(await connection.open()).toEqual(hello);
    expect(gateway.upgrades[0]?.headers.authorization).toBe("Bearer secret-token");
    expect(gateway.upgrades[0]?.url).toBe("/ws");
    expect(gateway.of("connect")[0]?.params).toEqual({
      minProtocol: 1,
      maxProtocol: 1,
      client: { id: "tester", version: "0.1.0", platform: "linux", mode: "client" },
      capabilities: ["payload-s3"],
      auth: { token: "secret-token" },
    });
  });

  it("sends no credentials when it has no token", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url, { token: undefined });
    await connection.open();
    expect(gateway.upgrades[0]?.headers.authorization).toBeUndefined();
    expect(gateway.of("connect")[0]?.params.auth).toBeUndefined();
  });

  it("reports its state from the first attempt to the end", async () => {
    const gateway = await gatewayFor();
    const { connection, states } = connectionTo(gateway.url);
    expect(connection.state).toEqual({ status: "idle" });
    await connection.open();
    await connection.close();
    expect(states.map((state) => state.status)).toEqual(["connecting", "connected", "closed"]);
    expect(connection.state).toEqual({ status: "closed", error: undefined });
  });
});

describe("requests", () => {
  it("return the payload of the answer that carries their id", async () => {
    const gateway = await gatewayFor();
    gateway.answer = ({ method, params }) => (method === "config.get" ? { payload: params } : undefined);
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const answers = await Promise.all(
      ["a", "b", "c"].map((path) => connection.request("config.get", { path })),
    );
    expect(answers).toEqual([{ path: "a" }, { path: "b" }, { path: "c" }]);
  });

  it("are rejected with the gateway's code, message, details and retryable", async () => {
    const gateway = await gatewayFor();
    gateway.answer = ({ method }) =>
      method === "session.get"
        ? { error: { code: 404, message: "no such session", details: { a: 1 } } }
        : method === "channels.list"
          ? { error: { code: 429, message: "slow down" } }
          : undefined;
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const missing = await refusalOf(connection.request("session.get", { sessionKey: "x" }));
    expect(missing).toBeInstanceOf(RequestError);
    expect(missing).toMatchObject({
      code: 404,
      message: "no such session",
      details: { a: 1 },
      retryable: false,
    });
    expect(await refusalOf(connection.request("channels.list"))).toMatchObject({
      code: 429,
      retryable: true,
    });
  });

  it("are refused at once while there is no connection", async () => {
    const { connection } = connectionTo("ws://127.0.0.1:1");
    expect(await refusalOf(connection.request("tools.list"))).toMatchObject({ code: 101, retryable: true });
  });

  it("above 128 KB are never sent, and the connection continues", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const refusal = await refusalOf(
      connection.request("chat.send", { sessionKey: "main", message: "é".repeat(65 * 1024) }),
    );
    expect(refusal).toMatchObject({ code: 413, retryable: false });
    expect(refusal.message).toContain("131072");
    await connection.request("tools.list");
    expect(gateway.requests.map((request) => request.method)).toEqual(["connect", "tools.list"]);
    expect(gateway.sockets).toHaveLength(1);
  });

  it("up to 128 KB travel in WebSocket frames of less than 32 KB each", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const bytes: Buffer[] = [];
    gateway.upgrades[0]?.socket.on("data", (chunk: Buffer) => bytes.push(chunk));
    const message = "€".repeat(42_000);
    await connection.request("chat.send", { sessionKey: "main", message });
    expect(gateway.of("chat.send")[0]?.params.message).toBe(message);
    const lengths = frameLengths(Buffer.concat(bytes));
    expect(lengths.length).toBeGreaterThan(3);
    expect(Math.max(...lengths)).toBeLessThan(32 * 1024);
  });

  it("that are never answered are rejected after their timeout", async () => {
    const gateway = await gatewayFor();
    gateway.answer = ({ method }) => (method === "token.list" ? "silence" : undefined);
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const refusal = await refusalOf(connection.request("token.list", {}, { timeoutMs: 20 }));
    expect(refusal).toMatchObject({ code: 408, retryable: true });
    expect(refusal.message).toContain("token.list");
    await connection.request("tools.list");
    expect(gateway.sockets).toHaveLength(1);
  });

  it("without an answer are rejected as retryable when the connection is lost or closed", async () => {
    const gateway = await gatewayFor();
    gateway.answer = ({ method }) => (method === "token.list" ? "silence" : undefined);
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const lost = refusalOf(connection.request("token.list"));
    await until(() => gateway.of("token.list")[0], "the request arrives");
    gateway.sockets[0]?.terminate();
    expect(await lost).toMatchObject({ code: 101, retryable: true });
    await until(() => connection.state.status === "connected", "it is back");
    const closed = refusalOf(connection.request("token.list"));
    await connection.close();
    expect(await closed).toMatchObject({ code: 101, retryable: false });
  });
});

/** The payload lengths of the client frames in a stream of masked WebSocket frames. */
function frameLengths(stream: Buffer): number[] {
  const lengths: number[] = [];
  for (let at = 0; at < stream.length; ) {
    const short = (stream[at + 1] ?? 0) & 0x7f;
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    const length =
      short === 126
        ? stream.readUInt16BE(at + 2)
        : short === 127
          ? Number(stream.readBigUInt64BE(at + 2))
          : short;
    lengths.push(length);
    at += 2 + extra + 4 + length;
  }
  return lengths;
}

describe("events", () => {
  it("reach the handlers of their name until these unsubscribe", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    const seen: unknown[] = [];
    const unsubscribe = connection.onEvent("chat", (payload) => seen.push(payload));
    gateway.sendEvent("chat", { n: 1 });
    gateway.sendEvent("other", { n: 2 });
    await connection.request("tools.list");
    unsubscribe();
    gateway.sendEvent("chat", { n: 3 });
    await connection.request("tools.list");
    expect(seen).toEqual([{ n: 1 }]);
  });

  it("that are not JSON, of an unknown type or unexpected answers are ignored", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    for (const text of [
      "not json",
      "[1]",
      '{"type":"new"}',
      '{"type":"res","id":"x","ok":true}',
      '{"type":"evt"}',
    ]) {
      gateway.sendText(text);
    }
    expect(await connection.request("tools.list")).toEqual({});
  });
});

describe("reconnecting", () => {
  it("happens after a lost socket and at the gateway's own limits, with a new connect each time", async () => {
    const gateway = await gatewayFor();
    const { connection, states } = connectionTo(gateway.url);
    await connection.open();
    gateway.sockets[0]?.terminate();
    await until(
      () => gateway.of("connect").length === 2 && connection.state.status === "connected",
      "second",
    );
    gateway.sockets[1]?.close(1001, "Going away");
    await until(() => gateway.of("connect").length === 3 && connection.state.status === "connected", "third");
    const reasons = states.flatMap((state) => (state.status === "waiting" ? [state.reason] : []));
    expect(reasons[1]).toBe("the gateway closed the connection (1001 Going away)");
    expect(await connection.request("tools.list")).toEqual({});
  });

  it("continues through errors of the gateway until it is healthy", async () => {
    const gateway = await gatewayFor();
    gateway.refuseWith = 502;
    let faults = 0;
    gateway.answer = ({ method }) =>
      method === "connect" && ++faults < 3 ? { error: { code: 500, message: "internal error" } } : undefined;
    const { connection } = connectionTo(gateway.url);
    const open = connection.open();
    await until(() => gateway.upgrades.length >= 3, "three upgrades refused");
    gateway.refuseWith = undefined;
    expect(await open).toEqual(hello);
    expect(gateway.of("connect")).toHaveLength(3);
  });

  it("finds a half-open connection by its unanswered ping", async () => {
    const gateway = await gatewayFor({ autoPong: false });
    const { connection, states } = connectionTo(gateway.url, {
      timing: { pingIntervalMs: 20, pongTimeoutMs: 20 },
    });
    await connection.open();
    await until(() => gateway.of("connect").length >= 2, "a new socket");
    expect(states).toContainEqual(
      expect.objectContaining({ status: "waiting", reason: "the gateway stopped answering" }),
    );
  });

  it("is avoided on a quiet connection by a message that the gateway ignores", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url, { timing: { quietMs: 20 } });
    await connection.open();
    const frames: string[] = [];
    gateway.sockets[0]?.on("message", (data) => frames.push(String(data)));
    await until(() => frames.length > 2, "messages");
    expect(new Set(frames)).toEqual(new Set(['{"type":"evt","event":"quiet"}']));
    expect(connection.state.status).toBe("connected");
  });

  it("follows close 1000, with which API Gateway may end a connection after two hours", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    gateway.sockets[0]?.close(1000);
    await until(() => gateway.of("connect").length === 2, "it connects again");
    expect(connection.state.status).not.toBe("closed");
  });

  it("follows HTTP 403, as API Gateway answers for some seconds after a deployment", async () => {
    const gateway = await gatewayFor();
    gateway.refuseWith = 403;
    const { connection } = connectionTo(gateway.url);
    const open = connection.open();
    await until(() => gateway.upgrades.length > 1, "it tries again");
    gateway.refuseWith = undefined;
    await expect(open).resolves.toMatchObject({ type: "hello-ok" });
  });

  it("does not happen while pings are answered", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url, { timing: { pingIntervalMs: 10, pongTimeoutMs: 5000 } });
    await connection.open();
    let pings = 0;
    gateway.sockets[0]?.on("ping", () => pings++);
    await until(() => pings > 5, "pings");
    expect(gateway.sockets).toHaveLength(1);
  });

  it("follows a request without an answer when a ping gets none either", async () => {
    const gateway = await gatewayFor({ autoPong: false });
    gateway.answer = ({ method }) => (method === "token.list" ? "silence" : undefined);
    const { connection } = connectionTo(gateway.url, { timing: { pongTimeoutMs: 20 } });
    await connection.open();
    await refusalOf(connection.request("token.list", {}, { timeoutMs: 10 }));
    await until(() => gateway.of("connect").length === 2, "a new socket");
  });

  it("gives up on a gateway that accepts the socket but never answers connect", async () => {
    const gateway = await gatewayFor();
    gateway.answer = () => (gateway.sockets.length === 1 ? "silence" : undefined);
    const { connection } = connectionTo(gateway.url, { timing: { connectTimeoutMs: 50 } });
    await connection.open();
    expect(gateway.sockets.length).toBeGreaterThan(1);
  });

  it("follows when the gateway says that it does not know this connection", async () => {
    const gateway = await gatewayFor();
    gateway.answer = ({ method }) =>
      method === "tools.list" && gateway.sockets.length === 1
        ? { error: { code: 101, message: "not connected" } }
        : undefined;
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    await refusalOf(connection.request("tools.list"));
    await until(() => gateway.of("connect").length === 2, "a new introduction");
  });

  it("resets its count of failures once a connection has been stable", async () => {
    const gateway = await gatewayFor();
    const { connection, states } = connectionTo(gateway.url, { timing: { stableMs: 1 } });
    await connection.open();
    for (const round of [2, 3, 4]) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      gateway.sockets.at(-1)?.terminate();
      await until(
        () => gateway.of("connect").length === round && connection.state.status === "connected",
        "back",
      );
    }
    const attempts = states.flatMap((state) => (state.status === "connecting" ? [state.attempt] : []));
    expect(attempts).toEqual([1, 2, 2, 2]);
  });

  it("backs off exponentially up to its bound, with full jitter", () => {
    expect([0, 1, 2, 5, 6, 7, 1000].map((n) => backoffDelay(n, 500, 30_000, () => 1))).toEqual([
      500, 1000, 2000, 16_000, 30_000, 30_000, 30_000,
    ]);
    expect(backoffDelay(3, 500, 30_000, () => 0)).toBe(0);
    expect(backoffDelay(3, 500, 30_000, () => 0.25)).toBe(1000);
  });
});
