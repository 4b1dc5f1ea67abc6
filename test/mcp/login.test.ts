import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { beginLogin, completeLogin, consumeReturn } from "../../shared/mcp/login.ts";
import { acceptReturn } from "../../shared/mcp/login-return.ts";
import { McpFault } from "../../shared/mcp/mcp-fault.ts";
import { endedLogins, openAddresses } from "../../shared/mcp/server-address.ts";
import { withServer } from "../../shared/mcp/server-connection.ts";
import { type OAuthTestServer, startOAuthServer } from "../support/mcp/oauth-server.ts";
import { type State, startState } from "../support/state.ts";

const tools = [{ name: "search", inputSchema: { type: "object" } }];
const settings = (url: string) => ({ url, auth: { accessToken: "***", refreshToken: "***" } });

let state: State;
let server: OAuthTestServer;
let later = 0;
const now = () => Date.now() + later;
const stored = new Map<string, string>();
const secrets = {
  get: async (path: string) => stored.get(path),
  put: async (path: string, value: string) => void stored.set(path, value),
};
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms / 10));
const world = () => ({ table: state.table, secrets, now, pause });
const webhookUrl = "http://127.0.0.1:1/";
const login = () => ({ table: state.table, now, webhookUrl });

beforeAll(async () => {
  state = await startState();
});
beforeEach(async () => {
  server = await startOAuthServer(tools, { tokenMs: 50 });
  later = 0;
  stored.clear();
});
afterEach(() => server.close());
afterAll(() => state.close());

const listed = async (addresses = openAddresses(world())) =>
  (await withServer(addresses("notion", settings(server.url)), (one) => one.list(0))).tools.length;

const returned = (back: URL) => {
  const { code, state: sent = "" } = Object.fromEntries(back.searchParams);
  return { state: sent, ...(code === undefined ? {} : { code }) };
};

/** Logs in as the owner does, in a browser. */
async function loggedIn(): Promise<void> {
  const { address } = await beginLogin(login(), "notion", { url: server.url });
  expect(await consumeReturn(login(), "notion")).toBeUndefined();
  expect(await acceptReturn(login(), returned(server.agree(address)))).toBe(true);
  const done = (await consumeReturn(login(), "notion"))!;
  stored.set("mcp.servers.notion.auth.accessToken", done.tokens.accessToken);
  stored.set("mcp.servers.notion.auth.refreshToken", done.tokens.refreshToken ?? "");
  await completeLogin(login(), "notion", done);
}

describe("a login at an MCP server", () => {
  it("gets tokens with which the server is asked", async () => {
    await loggedIn();
    expect(await listed()).toBe(1);
  });

  it("accepts what a browser brings once, in time, and only with its state", async () => {
    const { address, until } = await beginLogin(login(), "notion", { url: server.url });
    const back = returned(server.agree(address));
    expect(await acceptReturn(login(), { ...back, state: "another" })).toBe(false);
    later = until - Date.now() + 1;
    expect(await acceptReturn(login(), back)).toBe(false);
    later = 0;
    expect(await acceptReturn(login(), back)).toBe(true);
    expect(await acceptReturn(login(), { ...back, code: "another" })).toBe(false);
    await consumeReturn(login(), "notion");
    await expect(consumeReturn(login(), "notion")).rejects.toThrow(
      /no login at notion waits: run gsv mcp login/,
    );
  });

  it("that the owner refused is one sentence", async () => {
    const { address } = await beginLogin(login(), "notion", { url: server.url });
    const { state: sent } = returned(server.agree(address));
    await acceptReturn(login(), { state: sent, error: "access_denied" });
    await expect(consumeReturn(login(), "notion")).rejects.toThrow(
      "the login at notion was refused in the browser (access_denied): run gsv mcp login notion again",
    );
  });

  it("stores no secret in the table", async () => {
    await loggedIn();
    const items = JSON.stringify(await state.table.query({ pk: "MCP" }));
    expect(items).toContain("registered");
    expect(items).not.toMatch(/access-\d|refresh-\d/);
  });

  it("is for its address alone: another server of the same name gets no token", async () => {
    await loggedIn();
    const other = await startOAuthServer(tools);
    const address = openAddresses(world())("notion", settings(other.url));
    await expect(withServer(address, (one) => one.list(0))).rejects.toThrow(/the login at notion is over/);
    expect(other.requests).toEqual([]);
    await other.close();
  });
});

describe("tokens of an MCP server", () => {
  it("are refreshed before they expire, and when the server refuses them", async () => {
    await loggedIn();
    later = 3_590_000;
    expect(await listed()).toBe(1);
    server.expire();
    expect(await listed()).toBe(1);
    expect(server.tokenRequests.map((form) => form.get("refresh_token"))).toEqual([
      null,
      "refresh-1",
      "refresh-2",
    ]);
  });

  it("are refreshed once when 20 sessions want it at once", async () => {
    await loggedIn();
    server.expire();
    const sessions = Array.from({ length: 20 }, () => listed(openAddresses(world())));
    expect(await Promise.all(sessions)).toEqual(Array(20).fill(1));
    expect(server.tokenRequests.filter((form) => form.get("grant_type") === "refresh_token")).toHaveLength(1);
  });

  it("that cannot be refreshed any more need another login, and say so", async () => {
    await loggedIn();
    server.expire();
    server.revoke();
    const failed = await listed().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(McpFault);
    expect(failed).toMatchObject({
      needsLogin: true,
      message: expect.stringMatching(/run gsv mcp login notion$/),
    });
    expect(await endedLogins(state.table)).toEqual(new Set(["notion"]));
    // The claim was given back: the next attempt does not wait for it.
    await expect(listed()).rejects.toThrow(/run gsv mcp login notion$/);
    await loggedIn();
    expect(await endedLogins(state.table)).toEqual(new Set());
  });

  it("are refreshed by another session when one died while it did so", async () => {
    await loggedIn();
    server.expire();
    const dying = { ...world(), secrets: { ...secrets, get: () => new Promise<never>(() => {}) } };
    void withServer(openAddresses(dying)("notion", settings(server.url)), (one) => one.list(0)).catch(
      () => {},
    );
    later = 41_000;
    expect(await listed()).toBe(1);
  });
});
