import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection } from "../../cli/gateway/connection.ts";
import { linkToGateway } from "../../shared/peers/gateway-link.ts";
import { type ReceivedRequest, startTestGateway, type TestGateway } from "../cli/test-gateway.ts";
import { until } from "../support/until.ts";

type Ask = (sessionKey: string, timeoutMs?: number) => Promise<unknown>;

let gateway: TestGateway;
const closers: (() => unknown)[] = [];
beforeEach(async () => {
  gateway = await startTestGateway();
  // Repeats come at once.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await gateway.stop();
});

/** The clients of the gateway that repeat requests. */
const clients: Record<string, () => Promise<Ask>> = {
  "the command line": async () => {
    const client = { id: "tester", version: "0", platform: "linux", mode: "client" } as const;
    const connection = new Connection({ url: gateway.url, token: "t", client });
    closers.push(() => connection.close());
    await connection.open();
    return (sessionKey, timeoutMs) => connection.request("session.get", { sessionKey }, { timeoutMs });
  },
  "a function that serves a program": async () => {
    const link = await linkToGateway(gateway.url, "t", { name: "test", mode: "client" });
    closers.push(() => link.close());
    return (sessionKey, timeoutMs) => link.request("session.get", { sessionKey }, { timeoutMs });
  },
};

function fail(message = "Internal server error"): void {
  gateway.sendText(JSON.stringify({ message, connectionId: "c1=", requestId: "r1=" }));
}

/** Answers each request with its session's key, and fails the first `times` attempts of those that `fails` names. */
function failFirst(times: number, fails: (sessionKey: string) => boolean = () => true): void {
  const tries = new Map<string, number>();
  gateway.answer = ({ id, method, params }) => {
    if (method !== "session.get") return undefined;
    const sessionKey = String(params.sessionKey);
    const attempt = (tries.get(id) ?? 0) + 1;
    tries.set(id, attempt);
    if (attempt > times || !fails(sessionKey)) return { payload: sessionKey };
    fail();
    return "silence";
  };
}

const keysOf = (requests: ReceivedRequest[]) => requests.map(({ params }) => params.sessionKey);

describe.each(Object.entries(clients))("%s, when API Gateway has not executed a request,", (_, open) => {
  it("sends it again with its id until it is answered", async () => {
    const ask = await open();
    failFirst(3);
    expect(await ask("a")).toBe("a");
    const sent = gateway.of("session.get");
    expect(keysOf(sent)).toEqual(["a", "a", "a", "a"]);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
  });

  it("sends it again as soon as the others are answered, and these once", async () => {
    const ask = await open();
    failFirst(1, (sessionKey) => sessionKey === "b");
    expect(await Promise.all(["a", "b", "c"].map((key) => ask(key)))).toEqual(["a", "b", "c"]);
    expect(keysOf(gateway.of("session.get")).sort()).toEqual(["a", "b", "b", "c"]);
  });

  it("does not send it again while it may be another one", async () => {
    const ask = await open();
    let answerSlow = () => {};
    let isFailed = false;
    gateway.answer = ({ id, method, params }) => {
      if (method !== "session.get") return undefined;
      if (params.sessionKey === "slow") {
        answerSlow = () => gateway.sendText(JSON.stringify({ type: "res", id, ok: true, payload: "slow" }));
        return "silence";
      }
      if (params.sessionKey !== "failed" || isFailed) return { payload: params.sessionKey };
      isFailed = true;
      fail();
      return "silence";
    };
    const both = [ask("slow"), ask("failed")];
    await until(() => isFailed, "one is not executed");
    for (const key of ["c", "d"]) expect(await ask(key)).toBe(key);
    answerSlow();
    expect(await Promise.all(both)).toEqual(["slow", "failed"]);
    expect(keysOf(gateway.of("session.get"))).toEqual(["slow", "failed", "c", "d", "failed"]);
  });

  it("gives up after the request's timeout, and does not blame another one", async () => {
    const ask = await open();
    gateway.answer = ({ method, params }) => {
      if (method !== "session.get") return undefined;
      if (params.sessionKey === "next") return { payload: "next" };
      if (params.sessionKey === "failed") fail();
      return "silence";
    };
    const slow = ask("slow", 1000).catch(() => "no answer");
    await expect(ask("failed", 100)).rejects.toMatchObject({ retryable: true });
    expect(await ask("next")).toBe("next");
    expect(keysOf(gateway.of("session.get"))).toEqual(["slow", "failed", "next"]);
    expect(await slow).toBe("no answer");
  });

  it("does not repeat one whose function did not answer in time: it may still run", async () => {
    const ask = await open();
    gateway.answer = ({ method }) => {
      if (method !== "session.get") return undefined;
      fail("Endpoint request timed out");
      return "silence";
    };
    await expect(ask("a", 200)).rejects.toMatchObject({ retryable: true });
    expect(gateway.of("session.get")).toHaveLength(1);
  });
});
