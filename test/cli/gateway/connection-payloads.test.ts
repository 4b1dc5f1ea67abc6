import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ConnectionOptions } from "../../../cli/gateway/connection.ts";
import { maxFrameBytes, maxPayloadBytes } from "../../../shared/protocol/frames.ts";
import { until } from "../../support/until.ts";
import { type Answer, hello, type ReceivedRequest } from "../test-gateway.ts";
import { connectionBench, refusalOf } from "./connection-bench.ts";
import { type StorageServer, startStorage } from "./storage-server.ts";

const { gatewayFor, connectionTo } = connectionBench();
const large = "x".repeat(200_000);

let storage: StorageServer;
beforeEach(async () => {
  storage = await startStorage();
});
afterEach(() => storage.close());

/** A gateway that accepts params by reference, and an open connection to it. */
async function connected(
  answer: (request: ReceivedRequest) => Answer | undefined = () => undefined,
  timing: ConnectionOptions["timing"] = {},
) {
  const gateway = await gatewayFor();
  gateway.answer = (request) => {
    if (request.method === "connect")
      return { payload: { ...hello, features: { methods: ["payload.upload"], events: [] } } };
    const told = answer(request);
    if (told !== undefined || request.method !== "payload.upload") return told;
    return { payload: { ref: "the-ref", url: storage.url("upload") } };
  };
  const { connection, states } = connectionTo(gateway.url, { timing });
  await connection.open();
  return { gateway, connection, states };
}

const store = (name: string, frame: unknown) => {
  const text = JSON.stringify(frame);
  storage.objects.set(name, text);
  return { url: storage.url(name), bytes: Buffer.byteLength(text) };
};

describe("a connection", () => {
  it("announces large payloads in addition to its own capabilities", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url, { capabilities: ["other"] });
    await connection.open();
    expect(gateway.of("connect")[0]?.params.capabilities).toEqual(["payload-s3", "other"]);
  });

  it("reports how large a request may be", async () => {
    const old = connectionTo((await gatewayFor()).url).connection;
    expect(old.maxRequestBytes).toBe(maxFrameBytes);
    await old.open();
    expect(old.maxRequestBytes).toBe(maxFrameBytes);
    expect((await connected()).connection.maxRequestBytes).toBe(maxPayloadBytes);
  });
});

describe("a request that is too large for a frame", () => {
  it("is uploaded as JSON, and the frame contains the ref instead of the params", async () => {
    const { gateway, connection } = await connected();
    const params = { path: "a", content: `${large}ü` };
    expect(await connection.request("workspace.write", params)).toEqual({});
    const body = JSON.stringify(params);
    expect(storage.objects.get("upload")).toBe(body);
    expect(storage.requests[0]).toMatchObject({
      method: "PUT",
      headers: { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) },
    });
    expect(gateway.of("payload.upload")[0]?.params).toEqual({ bytes: Buffer.byteLength(body) });
    const [sent] = gateway.of("workspace.write");
    expect(sent).toEqual({
      type: "req",
      id: sent?.id,
      method: "workspace.write",
      paramsRef: "the-ref",
    });
  });

  it("is not uploaded when it fits", async () => {
    const { gateway, connection } = await connected();
    await connection.request("workspace.write", { path: "notes.md", content: "x".repeat(120_000) });
    expect(gateway.of("payload.upload")).toEqual([]);
    expect(storage.requests).toEqual([]);
  });

  it("fails with the gateway's refusal of its size", async () => {
    const { connection } = await connected(({ method }) =>
      method === "payload.upload" ? { error: { code: 413, message: "at most 10 MB" } } : undefined,
    );
    const refusal = await refusalOf(
      connection.request("workspace.write", { path: "notes.md", content: large }),
    );
    expect(refusal).toMatchObject({ code: 413, message: "at most 10 MB", retryable: false });
    expect(storage.requests).toEqual([]);
  });

  it("is retried while the storage fails", async () => {
    storage.faults = [503, 500];
    const { connection } = await connected();
    await connection.request("workspace.write", { path: "notes.md", content: large });
    expect(storage.requests).toHaveLength(3);
  });

  it("that the storage refuses is a 413 without the url", async () => {
    storage.faults = [403];
    const { gateway, connection } = await connected();
    const refusal = await refusalOf(
      connection.request("workspace.write", { path: "notes.md", content: large }),
    );
    expect(refusal).toMatchObject({ code: 413, retryable: false });
    expect(refusal.message).toContain("HTTP 403");
    expect(refusal.message).not.toContain("http://");
    expect(storage.requests).toHaveLength(1);
    expect(gateway.of("workspace.write")).toEqual([]);
  });

  it("may be resent when the connection is lost during the upload", async () => {
    storage.faults = ["silence"];
    const { gateway, connection } = await connected();
    const refused = refusalOf(connection.request("workspace.write", { path: "notes.md", content: large }));
    await until(() => storage.requests.length === 1, "the upload has begun");
    gateway.sockets[0]?.terminate();
    expect(await refused).toMatchObject({ code: 101, retryable: true });
    await until(() => connection.state.status === "connected", "it is back");
    await connection.request("workspace.write", { path: "notes.md", content: large });
    expect(gateway.of("workspace.write")).toHaveLength(1);
  });

  it("fails when the upload exceeds its timeout", async () => {
    storage.faults = ["silence"];
    const { connection } = await connected(undefined, { transferTimeoutMs: 30 });
    const refusal = await refusalOf(
      connection.request("workspace.write", { path: "notes.md", content: large }),
    );
    expect(refusal).toMatchObject({ code: 413, message: expect.stringContaining("longer than 30 ms") });
  });
});

describe("an answer by reference", () => {
  /** Answers `token.list` with the head of a frame. */
  const reading = (refOf: (id: string) => unknown) => async () => {
    const bench = await connected(({ method }) => (method === "token.list" ? "silence" : undefined));
    const answer = bench.connection.request("token.list", {}, { timeoutMs: 15_000 });
    const { id } = await until(() => bench.gateway.of("token.list")[0], "the request arrives");
    bench.gateway.sendText(JSON.stringify({ type: "res", id, ok: true, payloadRef: refOf(id) }));
    return { ...bench, answer };
  };

  it("is returned whole", async () => {
    const { answer } = await reading((id) => store("a", { type: "res", id, ok: true, payload: { large } }))();
    expect(await answer).toEqual({ large });
  });

  it("may be a refusal", async () => {
    const error = { code: 500, message: large };
    const { answer } = await reading((id) => store("a", { type: "res", id, ok: false, error }))();
    expect(await refusalOf(answer)).toMatchObject(error);
  });

  it.each([
    ["has expired", () => ({ url: storage.url("none"), bytes: 10 }), "HTTP 404"],
    [
      "is another request's",
      () => store("a", { type: "res", id: "x", ok: true, payload: 1 }),
      "another frame",
    ],
    ["is no frame", () => store("a", "text"), "another frame"],
    ["is too large", () => ({ url: storage.url("a"), bytes: maxPayloadBytes + 1 }), "it has more than"],
  ])("that %s is a 503 which does not show the url", async (_, refOf, reason) => {
    const { answer, connection } = await reading(refOf)();
    const refusal = await refusalOf(answer);
    expect(refusal).toMatchObject({ code: 503, retryable: true, message: expect.stringContaining(reason) });
    expect(refusal.message).not.toContain("http://");
    expect(connection.state.status).toBe("connected");
  });

  it("does not delay other answers", async () => {
    storage.faults = ["silence"];
    const { connection, answer } = await reading(() => ({ url: storage.url("slow"), bytes: 10 }))();
    await until(() => storage.requests.length === 1, "it is being fetched");
    expect(await connection.request("tools.list")).toEqual({});
    const refused = refusalOf(answer);
    await connection.close();
    expect(await refused).toMatchObject({ code: 101 });
  });

  it("may take longer than the response timeout", async () => {
    const { gateway, connection } = await connected(({ method }) =>
      method === "tools.list" ? undefined : "silence",
    );
    let open = () => {};
    storage.gate = new Promise<void>((resolve) => (open = resolve));
    const slow = connection.request("token.list", {}, { timeoutMs: 500 });
    const { id } = await until(() => gateway.of("token.list")[0], "the request arrives");
    const payloadRef = store("a", { type: "res", id, ok: true, payload: 1 });
    gateway.sendText(JSON.stringify({ type: "res", id, ok: true, payloadRef }));
    await until(() => storage.requests.length === 1, "it is being fetched");
    const later = refusalOf(
      connection.request("session.preview", { sessionKey: "main" }, { timeoutMs: 600 }),
    );
    expect(await later).toMatchObject({ code: 408 });
    open();
    expect(await slow).toBe(1);
  });
});

describe("events by reference", () => {
  it("keep their order among the others", async () => {
    const { gateway, connection } = await connected();
    const seen: unknown[] = [];
    connection.onEvent("chat", (payload) => seen.push(payload));
    storage.faults = [500];
    const payloadRef = store("a", { type: "evt", event: "chat", payload: 2 });
    gateway.sendEvent("chat", 1);
    gateway.sendText(JSON.stringify({ type: "evt", event: "chat", payloadRef }));
    gateway.sendEvent("chat", 3);
    gateway.sendText(
      JSON.stringify({
        type: "evt",
        event: "chat",
        payloadRef: store("b", { type: "evt", event: "chat", payload: 4 }),
      }),
    );
    gateway.sendEvent("chat", 5);
    await until(() => seen.length === 5, "all events have come");
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    gateway.sendEvent("chat", 6);
    await until(() => seen.length === 6, "the next one comes too");
  });

  it("that cannot be fetched end the connection with the reason, and it reconnects", async () => {
    const { gateway, connection, states } = await connected();
    const payloadRef = { url: storage.url("none"), bytes: 300_000 };
    gateway.sendText(JSON.stringify({ type: "evt", event: "chat", payloadRef }));
    await until(() => gateway.sockets.length === 2 && connection.state.status === "connected", "it is back");
    const waiting = states.find((state) => state.status === "waiting");
    expect(waiting).toMatchObject({ reason: expect.stringContaining("HTTP 404") });
    expect(JSON.stringify(waiting)).not.toContain("http://");
  });
});
