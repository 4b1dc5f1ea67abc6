import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDev } from "../../../../local/dev/dev.ts";
import { openRequest, readRequest } from "../../../../shared/peers/program-grants.ts";
import { createToken } from "../../../../shared/peers/tokens.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { gsv } from "../../run-gsv.ts";

let cwd: string;
let dev: Awaited<ReturnType<typeof startDev>>;
let env: Record<string, string>;

beforeEach(async () => {
  cwd = newFolder();
  dev = await startDev({ dir: join(cwd, ".gsv") });
  const admin = { name: "a", scopes: ["client", "admin"] as const };
  env = { GSV_ADMIN_TOKEN: (await createToken(dev.cloud.world.table, admin, Date.now())).token };
});
afterEach(() => dev.close());

const run = (...args: string[]) => gsv(["mcp", ...args], { cwd, env });

async function ask() {
  const asking = {
    clientId: "gsvc_x",
    clientName: "Editor\u001b[2J",
    redirectUri: "http://127.0.0.1:7777/callback",
    challenge: createHash("sha256").update("x").digest("base64url"),
    scopes: ["mcp" as const, "mcp:nodes" as const],
  };
  return openRequest(dev.cloud.world.table, asking, Date.now());
}

describe("gsv mcp approve", () => {
  it("shows who asks for what, and lets it in with the scopes that are named", async () => {
    const { code } = await ask();
    const { code: exit, stdout, stderr } = await run("approve", code, "--scopes", "mcp", "--yes");
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^approved; the browser returns/)]);
    expect(stderr).toMatch(/program +Editor.*it calls itself so/);
    expect(stderr).not.toContain("\u001b[2J");
    expect(stderr).toContain("http://127.0.0.1:7777/callback");
    expect(stderr).toMatch(/asks for +mcp mcp:nodes/);
    expect(await readRequest(dev.cloud.world.table, code, Date.now())).toMatchObject({ approved: true });
  });

  it("asks first, and approves nothing without an answer", async () => {
    const { code } = await ask();
    expect((await run("approve", code)).code).not.toBe(0);
    expect(await readRequest(dev.cloud.world.table, code, Date.now())).toMatchObject({ approved: false });
    expect((await run("approve", "aaaa-aaaa", "--yes")).stderr).toContain("no request with this code");
    expect((await run("approve", code, "--scopes", "admin", "--yes")).stderr).toContain(
      "expected mcp or mcp:nodes",
    );
  });
});

describe("gsv mcp deny", () => {
  it("ends the code, once", async () => {
    const { code } = await ask();
    const { stdout } = await run("deny", code, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ clientId: "gsvc_x", approved: false });
    await expect(readRequest(dev.cloud.world.table, code, Date.now())).rejects.toMatchObject({ code: 404 });
    expect((await run("deny", code)).stderr).toContain("no request with this code");
    const { code: another } = await ask();
    const shown = (await run("deny", another)).stdout;
    expect(shown).toMatch(/^denied: Editor.*Its code has ended/);
    expect(shown).not.toContain("\u001b[2J");
  });
});

describe("gsv mcp config", () => {
  it.each([
    ["claude", (url: string) => `claude mcp add --transport http gsv ${url}`],
    ["cursor", (url: string) => `"url": "${url}"`],
    ["codex", (url: string) => `[mcp_servers.gsv]\nurl = "${url}"`],
  ])("prints what to paste for %s", async (program, expected) => {
    expect((await run("config", program)).stdout).toContain(expected(dev.cloud.mcp));
    const shown = JSON.parse((await run("config", program, "--json")).stdout);
    expect(shown).toMatchObject({
      program,
      url: dev.cloud.mcp,
      paste: expect.stringContaining(dev.cloud.mcp),
    });
  });

  it("names the programs that it knows", async () => {
    expect((await run("config", "emacs")).stderr).toContain("use claude, cursor, codex");
  });
});
