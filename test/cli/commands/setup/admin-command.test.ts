import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfigFile, updateConfigFile } from "../../../../cli/app/config-file.ts";
import { main } from "../../../../cli/app/main.ts";
import { withAdminRights } from "../../../../cli/gateway/admin-rights.ts";
import type { Gateway } from "../../../../cli/gateway/gateway-client.ts";
import { RequestError } from "../../../../cli/gateway/request-error.ts";
import { startDev } from "../../../../local/dev/dev.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { standingAdmin } from "../../../support/standing-admin.ts";
import { administer } from "../../administer.ts";
import { type FakeTerminal, fakeTerminal } from "../../fake-terminal.ts";
import { type GsvHere, gsv, interruptHere, startHere } from "../../run-gsv.ts";

afterEach(interruptHere);

async function serve(cwd: string): Promise<GsvHere> {
  const run = startHere(["dev", "--serve", "--json"], { cwd });
  await run.prints(/^\{.*\}$/m);
  return run;
}

describe("a command that needs admin rights, at a terminal", () => {
  let cwd: string;
  let terminal: FakeTerminal;
  beforeEach(() => {
    cwd = newFolder();
    terminal = fakeTerminal({ HOME: cwd }, cwd, 400);
  });
  const sees = (text: string) => expect.poll(() => terminal.written()).toContain(text);

  it("says so, and runs once the user has typed the code that the gateway shows", async () => {
    const run = await serve(cwd);
    const ended = main(["config", "set", "userTimezone", "Europe/Berlin"], terminal);
    await sees("gsv: config.set needs admin rights");
    await sees("Code that the gateway shows in its terminal");
    await expect.poll(() => codesOf(run)).toHaveLength(1);
    terminal.type(`${codesOf(run)[0]}\r`);
    expect(await ended).toBe(0);
    expect((await gsv(["config", "get", "userTimezone"], { cwd })).stdout).toBe("Europe/Berlin\n");
  });

  it("asks once for all of its methods", async () => {
    const refusal = new RequestError(403, "no", { details: { scope: "admin" } });
    const gateway = (request: () => Promise<unknown>) => ({ request }) as unknown as Gateway;
    const asked: string[] = [];
    const admin = withAdminRights(
      gateway(() => Promise.reject(refusal)),
      async (method) => {
        asked.push(method);
        return gateway(async () => "done");
      },
    );
    expect(await Promise.all([admin.request("token.list"), admin.request("pair.list")])).toEqual([
      "done",
      "done",
    ]);
    expect(await admin.request("token.list")).toBe("done");
    expect(asked).toEqual(["token.list"]);
  });

  it("changes nothing after a wrong code", async () => {
    await serve(cwd);
    const ended = main(["config", "set", "userTimezone", "Europe/Berlin"], terminal);
    await sees("Code that the gateway shows");
    terminal.type("aaaa-aaaa\r");
    expect(await ended).toBe(1);
    await sees("gsv: the code is wrong, used, or older than two minutes; run `gsv admin` again");
    expect((await gsv(["config", "get", "userTimezone"], { cwd })).stdout).toBe("UTC\n");
  });

  it("asks before it administers a local gateway that it has started itself", async () => {
    await (await startDev({ dir: join(cwd, ".gsv") })).close();
    const answers = async (answer: string) => {
      terminal = fakeTerminal({ HOME: cwd }, cwd, 400);
      const ended = main(["config", "set", "userTimezone", "Europe/Berlin"], terminal);
      await sees("Administer this local gateway for 15 minutes? [y/N]");
      terminal.type(`${answer}\r`);
      await ended;
      return (await gsv(["config", "get", "userTimezone"], { cwd })).stdout;
    };
    expect(await answers("n")).toBe("UTC\n");
    expect(await answers("y")).toBe("Europe/Berlin\n");
  });
});

const codesOf = (run: GsvHere) => [...run.stderr().matchAll(/type (\S+) there/g)].map(([, code]) => code);

describe("without a terminal", () => {
  it("a stopped local gateway gives no admin rights, and a revoked admin token is not accepted", async () => {
    const cwd = newFolder();
    await (await startDev({ dir: join(cwd, ".gsv") })).close();
    expect((await gsv(["admin"], { cwd })).stderr).toContain("start the gateway with `gsv dev --serve`");
    const run = await serve(cwd);
    const env = { GSV_ADMIN_TOKEN: await administer(cwd, run) };
    const [, id = ""] = env.GSV_ADMIN_TOKEN.split("_");
    const other = { GSV_ADMIN_TOKEN: await administer(cwd, run) };
    expect((await gsv(["token", "revoke", id], { cwd, env: other })).code).toBe(0);
    expect((await gsv(["token", "list"], { cwd, env })).stderr).toBe(
      "gsv: token.list needs admin rights, and GSV_ADMIN_TOKEN has expired; run `export GSV_ADMIN_TOKEN=$(gsv admin)` again\n",
    );
  });

  it("`gsv init` does not store a token with the scope admin, but makes one without it", async () => {
    const [cwd, home] = [newFolder(), newFolder()];
    const dev = await startDev({ dir: join(cwd, ".gsv") });
    const { token } = await standingAdmin(dev.cloud.world.table);
    const run = await gsv(["init", "--url", dev.url, "--token", token], { cwd: home });
    expect(run, run.stderr).toMatchObject({ code: 0 });
    expect(run.stderr).toContain("with the scopes client, approve");
    const stored = (await readConfigFile(join(home, ".config/gsv/config.toml"))).gateway?.token;
    expect(stored).toMatch(/^gsv_/);
    expect(stored).not.toBe(token);
    expect((await gsv(["token", "list"], { cwd: home })).stderr).toContain("needs admin rights");
    await dev.close();
  });

  it("keeps using a stored token with the scope admin, as earlier versions saved it", async () => {
    const [cwd, home] = [newFolder(), newFolder()];
    const dev = await startDev({ dir: join(cwd, ".gsv") });
    const { token } = await standingAdmin(dev.cloud.world.table);
    mkdirSync(join(home, ".config/gsv"), { recursive: true });
    const file = join(home, ".config/gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: dev.url, token } });
    expect(await gsv(["token", "list"], { cwd: home })).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(file, "utf8")).toContain(token);
    await dev.close();
  });
});
