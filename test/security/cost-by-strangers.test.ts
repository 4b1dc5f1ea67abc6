import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWebhookHandler } from "../../functions/webhook/webhook-handler.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import type { Table } from "../../shared/world/world.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let clock: number;
const now = () => clock;

beforeEach(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  state = await startState();
  clock = Date.now();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await state.close();
});

/** A table that notes its calls by name. */
function noted(table: Table): Table & { calls: string[] } {
  const calls: string[] = [];
  const note = <A extends unknown[], T>(name: string, call: (...args: A) => T) => {
    return (...args: A): T => {
      calls.push(name);
      return call(...args);
    };
  };
  const { get, put, update, query, queryIndex } = table;
  return {
    calls,
    get: note("get", get),
    put: note("put", put),
    update: note("update", update),
    delete: note("delete", table.delete),
    query: note("query", query),
    queryIndex: note("queryIndex", queryIndex),
  };
}

describe("a stranger's call of the webhook", () => {
  const start = () => {
    const table = noted(state.table);
    const secrets = state.openSecrets("/gsv/test");
    const handler = createWebhookHandler({ table, secrets, wake: async () => {}, now });
    const call = async (rawPath: string): Promise<number> => {
      const event = { rawPath, headers: {}, requestContext: { http: { method: "POST" } }, body: "{}" };
      const answer = await handler(event as never, { awsRequestId: "r" } as never);
      return (answer as { statusCode: number }).statusCode;
    };
    return { table, secrets, call };
  };

  it("reads the table at most once in 30 s, however many accounts it names", async () => {
    const { table, call } = start();
    for (let second = 0; second < 30; second++) {
      for (const account of ["default", "a", `a-${second}`, `b-${second}`])
        expect(await call(`/telegram/${account}`)).toBe(503);
      clock += 1000;
    }
    expect(table.calls).toEqual(["get"]);
    await call("/telegram/default");
    expect(table.calls).toEqual(["get", "get"]);
  });

  it("reads nothing for a path that is no channel's", async () => {
    const { table, call } = start();
    for (const path of ["/", "/.env", "/pigeon/default", "/telegram/a/b"]) expect(await call(path)).toBe(404);
    expect(table.calls).toEqual([]);
  });

  it("to a stopped account reads the table no oftener than one to an account that runs", async () => {
    const { table, secrets, call } = start();
    const account = { botToken: "1:token", webhookSecret: "secret", enabled: false };
    await openConfiguration(state.table, secrets).set("channels.telegram.accounts.default", account);
    for (let second = 0; second < 30; second++) {
      expect(await call("/telegram/default")).toBe(401);
      clock += 1000;
    }
    // Each 5 s by the age of the configuration, and one look at the newest after the first wrong secret …
    const repeats = 3;
    expect(table.calls.length).toBeLessThanOrEqual(6 + 1 + repeats);
  });

  it("does not delay an account that was added for more than 30 s", async () => {
    const { secrets, call } = start();
    await call("/telegram/default");
    const account = { botToken: "1:token", webhookSecret: "secret" };
    await openConfiguration(state.table, secrets).set("channels.telegram.accounts.default", account);
    clock += 30_000;
    // Known now: the secret is asked for.
    expect(await call("/telegram/default")).toBe(401);
  });
});
