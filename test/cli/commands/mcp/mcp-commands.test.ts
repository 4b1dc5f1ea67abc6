import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDev } from "../../../../local/dev/dev.ts";
import { createToken } from "../../../../shared/peers/tokens.ts";
import { startMcpServer } from "../../../support/mcp/mcp-server.ts";
import { startOAuthServer } from "../../../support/mcp/oauth-server.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { until } from "../../../support/until.ts";
import { gsv, startHere } from "../../run-gsv.ts";

let cwd: string;
let dev: Awaited<ReturnType<typeof startDev>>;
let env: Record<string, string>;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  cwd = newFolder();
  dev = await startDev({ dir: join(cwd, ".gsv") });
  const admin = { name: "a", scopes: ["client", "admin"] as const };
  env = { GSV_ADMIN_TOKEN: (await createToken(dev.cloud.world.table, admin, Date.now())).token };
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await dev.close();
});

const run = (...args: string[]) => gsv(["mcp", ...args], { cwd, env });
const out = async (...args: string[]) => (await run(...args)).stdout.trimEnd();
const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).stdout);
const tools = [{ name: "search", description: "Searches pages", inputSchema: { type: "object" } }];

describe("gsv mcp", () => {
  it("adds a server, shows it and its tools, asks it again, and removes it", async () => {
    const server = await startMcpServer({ tools });
    closing.push(server.close);
    expect(await out("add", "docs", server.url, "--class", "read")).toMatch(
      /^docs is added\ndocs: 1 tool, MCP 2026-07-28, \d+ ms$/,
    );
    expect(await out("list")).toMatch(/^NAME .*\ndocs +1 +read +none +\S+ \S+ +http:\/\/127\.0\.0\.1/);
    expect(await out("tools", "docs")).toMatch(/^TOOL .*\ndocs__search +read +Searches pages$/);
    server.options.tools = [...tools, { name: "write", inputSchema: { type: "object" } }];
    expect(await json("probe", "docs")).toMatchObject({ tools: 2, protocol: "2026-07-28" });
    expect(await json("tools")).toMatchObject({ count: 2, tools: [{ server: "docs", tool: "search" }, {}] });
    expect(await out("remove", "docs")).toBe("docs is removed");
    expect(await json("list")).toEqual({ servers: [], count: 0 });
    expect(await out("remove", "docs")).toBe("there was no server docs");
    expect(await dev.cloud.world.table.query({ pk: "MCP" })).toEqual([]);
  });

  it("keeps a token as a secret, and forgets it with the address", async () => {
    const server = await startMcpServer({ tools, token: () => "sesame" });
    const other = await startMcpServer({ tools });
    closing.push(server.close, other.close);
    expect(await out("add", "docs", server.url, "--bearer", "sesame")).toMatch(/1 tool/);
    expect(JSON.stringify(await json("list"))).not.toContain("sesame");
    const { world } = dev.cloud;
    expect(await world.secrets.get("mcp.servers.docs.auth.token")).toBe("sesame");
    expect(await out("add", "docs", other.url)).toMatch(/1 tool/);
    expect(other.requests.map(({ headers }) => headers.authorization)).not.toContain("Bearer sesame");
    expect(await world.secrets.get("mcp.servers.docs.auth.token")).toBeUndefined();
  });

  it("logs in by the browser, which returns to the webhook's address", async () => {
    const server = await startOAuthServer(tools);
    closing.push(server.close);
    expect(await out("add", "notion", server.url)).toMatch(/run gsv mcp login notion/);
    const login = startHere(["mcp", "login", "notion"], { cwd, env });
    const address = () => /http:\/\/127\.0\.0\.1:\d+\/authorize\S+/.exec(login.stderr())?.[0];
    await until(async () => address() !== undefined);
    const back = server.agree(String(address()));
    const page = await fetch(back);
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining("You may close this page"),
    ]);
    expect((await fetch(back)).status).toBe(400);
    await login.prints(/notion: 1 tool, MCP/);
    await until(async () => (await json("list")).servers[0].auth === "login");
    expect(await json("probe", "notion")).toMatchObject({ tools: 1 });
    expect(JSON.stringify(await dev.cloud.world.table.query({ pk: "MCP" }))).not.toMatch(
      /access-\d|refresh-\d/,
    );
    await run("remove", "notion");
    expect(await dev.cloud.world.secrets.get("mcp.servers.notion.auth.refreshToken")).toBeUndefined();
  });

  it.each([
    [["probe", "none"], 1, /there is no MCP server none: gsv mcp add none URL adds it/],
    [["login", "none"], 1, /there is no MCP server none/],
    [["add", "Bad_Name", "https://x.example"], 1, /name: expected a name of a-z, 0-9 and -/],
    [["add", "x", "not an address"], 1, /expected an http or https URL/],
    [["add", "x", "https://x.example", "--class", "all"], 2, /--class: expected read, web/],
  ] as [string[], number, RegExp][])("says what is wrong with %s", async (args, code, sentence) => {
    const failed = await run(...args);
    expect([failed.code, failed.stderr]).toEqual([code, expect.stringMatching(sentence)]);
  });
});
