import { describe, expect, it } from "vitest";
import { freePort } from "../../local/kept-port.ts";
import { until } from "../../support/until.ts";
import type { TestGateway } from "../test-gateway.ts";
import { connectionBench, refusalOf } from "./connection-bench.ts";

const { gatewayFor, connectionTo } = connectionBench();

describe("a connection ends permanently, with one reason", () => {
  const cases: [string, number, (gateway: TestGateway) => Partial<TestGateway>][] = [
    ["HTTP 401 at the upgrade", 401, () => ({ refuseWith: 401 })],
    ["error 102 on connect", 102, () => ({ answer: () => ({ error: { code: 102, message: "no" } }) })],
    ["error 103 on connect", 103, () => ({ answer: () => ({ error: { code: 103, message: "no" } }) })],
    ["error 400 on connect", 400, () => ({ answer: () => ({ error: { code: 400, message: "no" } }) })],
    ["error 401 on connect", 401, () => ({ answer: () => ({ error: { code: 401, message: "no" } }) })],
    ["error 403 on connect", 403, () => ({ answer: () => ({ error: { code: 403, message: "no" } }) })],
    ["an answer that is not a gateway's", 102, () => ({ answer: () => ({ payload: { welcome: true } }) })],
    [
      "close 4001 on connect",
      401,
      (gateway) => ({
        answer: () => {
          gateway.sockets[0]?.close(4001, "unauthorized");
          return "silence";
        },
      }),
    ],
  ];

  it.each(cases)("on %s", async (_name, expected, prepare) => {
    const gateway = await gatewayFor();
    Object.assign(gateway, prepare(gateway));
    const { connection, states } = connectionTo(gateway.url);
    const refusal = await refusalOf(connection.open());
    expect(refusal).toMatchObject({ name: "RequestError", code: expected });
    expect(refusal.message).toContain("gateway");
    expect(refusal.message).not.toContain("secret-token");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(gateway.upgrades).toHaveLength(1);
    expect(states.map((state) => state.status)).toEqual(["connecting", "closed"]);
  });

  it.each<[string, (gateway: TestGateway) => Partial<TestGateway>, RegExp]>([
    ["HTTP 500 at the upgrade", () => ({ refuseWith: 500 }), /HTTP 500; its terminal or log says why$/],
    [
      "an internal error on connect",
      () => ({ answer: () => ({ error: { code: 500, message: "internal error" } }) }),
      /refused to connect: internal error; its terminal or log says why$/,
    ],
  ])("on the first %s, without doubt that the gateway runs", async (_name, prepare, sentence) => {
    const gateway = await gatewayFor();
    Object.assign(gateway, prepare(gateway));
    const { connection } = connectionTo(gateway.url, { firstAttempts: 1 });
    const refusal = await refusalOf(connection.open());
    expect(refusal).toMatchObject({ code: 500 });
    expect(refusal.message).toMatch(sentence);
  });

  it("when another connection with its id takes its place", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    gateway.sendEvent("connection.ended", { reason: "superseded" });
    const state = await until(() => connection.state.status === "closed" && connection.state, "it is closed");
    expect(state.error?.message).toContain('another "tester" has taken its place');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(gateway.upgrades).toHaveLength(1);
  });

  it("when the gateway says that its token was revoked", async () => {
    const gateway = await gatewayFor();
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    gateway.sendEvent("connection.ended", { reason: "revoked" });
    const state = await until(() => connection.state.status === "closed" && connection.state, "it is closed");
    expect(state.error).toMatchObject({ code: 401 });
    expect(state.error?.message).toContain("its token was revoked");
  });

  it("when six consecutive attempts are answered HTTP 403", async () => {
    const gateway = await gatewayFor();
    gateway.refuseWith = 403;
    const { connection } = connectionTo(gateway.url, { firstAttempts: 1 });
    const refusal = await refusalOf(connection.open());
    expect(refusal).toMatchObject({ name: "RequestError", code: 403 });
    expect(gateway.upgrades).toHaveLength(6);
  });

  it("when the token is revoked while it is connected", async () => {
    const gateway = await gatewayFor();
    gateway.answer = ({ method }) =>
      method === "tools.list" ? { error: { code: 401, message: "the token was revoked" } } : undefined;
    const { connection } = connectionTo(gateway.url);
    await connection.open();
    await refusalOf(connection.request("tools.list"));
    const state = await until(() => connection.state.status === "closed" && connection.state, "it is closed");
    expect(state.error).toMatchObject({ code: 401 });
  });

  it("when the address is not a WebSocket address", async () => {
    const { connection } = connectionTo("not an address");
    const refusal = await refusalOf(connection.open());
    expect(refusal.message).toBe("cannot connect to not an address: not a WebSocket address");
  });

  it("after its number of first attempts, when it never connected", async () => {
    const port = await freePort();
    const { connection, states } = connectionTo(`ws://127.0.0.1:${port}`, { firstAttempts: 2 });
    const refusal = await refusalOf(connection.open());
    expect(refusal.message).toBe(
      `cannot reach ws://127.0.0.1:${port}: nothing listens there (connection refused)`,
    );
    expect(states.filter((state) => state.status === "connecting")).toHaveLength(2);
  });

  it("when it is closed while it is still connecting", async () => {
    const gateway = await gatewayFor();
    gateway.answer = () => "silence";
    const { connection } = connectionTo(gateway.url);
    const open = refusalOf(connection.open());
    await until(() => gateway.of("connect")[0], "connect arrives");
    await connection.close();
    expect(await open).toMatchObject({ code: 101 });
  });
});
