import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "uqr";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../../cli/app/main.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { fakeTerminal } from "../../fake-terminal.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

const code = "abcdefghijkmnpqrstuvwxyz23";
const page = "https://gsv.example";
let gateway: FakeGateway;
const given = () => ({ GSV_URL: gateway.url, GSV_TOKEN: "good-token" });
const run = (args: string[], options: GsvOptions = {}) => gsv(args, { ...options, env: given() });
beforeEach(async () => {
  gateway = await startFakeGateway({
    "code.create": ({ params }) => ({
      ...{ code, scopes: ["client"], expiresAt: Date.now() + 600_000 },
      ...(params.short ? { short: "abcd2345" } : {}),
    }),
  });
  gateway.page = page;
});
afterEach(() => gateway.close());

/** The rows of a drawing that has two in each line, true for the modules that are drawn. */
const lightModules = (drawing: string) =>
  drawing
    .split("\n")
    .flatMap((line) => ["█▀", "█▄"].map((drawn) => [...line].map((one) => drawn.includes(one))))
    .slice(0, drawing.split("\n")[0]?.length);

describe("gsv open", () => {
  it("prints the link without a terminal, and everything with --json", async () => {
    expect((await run(["open"])).stdout).toMatch(
      new RegExp(`^${page}/#c=${code}\nThe code works once, until `),
    );
    expect(gateway.requests.at(-1)?.params).toEqual({ seconds: 600, short: false });
    const { stdout } = await run(["open", "--json", "--name", "laptop"]);
    expect(JSON.parse(stdout)).toMatchObject({ page, url: `${page}/#c=${code}`, code, scopes: ["client"] });
    expect(gateway.requests.at(-1)?.params).toMatchObject({ name: "laptop" });
  });

  it("opens the browser at a terminal, but not over SSH or when the browser fails", async () => {
    const folder = newFolder();
    const browser = join(folder, "browser.sh");
    writeFileSync(browser, `#!/bin/sh\necho "$1" >> ${join(folder, "opened")}\n`);
    chmodSync(browser, 0o700);
    const open = async (env: Record<string, string>) => {
      const terminal = fakeTerminal({ ...given(), HOME: folder, ...env }, folder, 200);
      expect(await main(["open"], terminal)).toBe(0);
      return terminal.written();
    };
    expect(await open({ BROWSER: browser })).toBe(`opened ${page}\n`);
    expect(readFileSync(join(folder, "opened"), "utf8")).toBe(`${page}/#c=${code}\n`);
    const link = expect.stringContaining(`${page}/#c=${code}\n`);
    expect(await open({ BROWSER: browser, SSH_CONNECTION: "1" })).toEqual(link);
    expect(await open({ BROWSER: "/bin/false" })).toEqual(link);
    expect(await open({ BROWSER: join(folder, "missing") })).toEqual(link);
    expect(readFileSync(join(folder, "opened"), "utf8").split("\n")).toHaveLength(2);
  });

  it("draws a QR code and shows the typed code for a phone, and warns of an address that it cannot reach", async () => {
    const { stdout, stderr } = await run(["open", "--phone"]);
    expect(stdout).toContain(`Scan this, or open ${page} and type abcd2345\n`);
    expect(lightModules(stdout.split("\n\n")[0] ?? "")).toEqual(
      encode(`${page}/#c=${code}`, { border: 2 }).data.map((row) => row.map((isDark) => !isDark)),
    );
    expect(stderr).toBe("");
    gateway.page = "http://127.0.0.1:4100";
    expect((await run(["open", "--phone"])).stderr).toContain("a phone cannot reach");
  });

  it("says what to do when the gateway has no page", async () => {
    delete gateway.page;
    const { code: status, stderr } = await run(["open"]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("this gateway has no page yet; update it")]);
    for (const hostile of [
      "file:///etc/passwd",
      "--version",
      "https://a.example/x",
      "https://a.example\u001b",
    ]) {
      gateway.page = hostile;
      expect((await run(["open"])).stderr, hostile).toContain("the page's address is not valid");
    }
    expect(gateway.requests).toEqual([]);
  });
});
