import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { updateConfigFile } from "../../../../cli/app/config-file.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let home: string;
let file: string;
const run = (args: string[], input?: string) => gsv(["local-config", ...args], { cwd: home, input });
beforeEach(() => {
  home = newFolder();
  file = join(home, ".config/gsv/config.toml");
});

describe("gsv local-config", () => {
  it("shows the settings with the token masked", async () => {
    const gateway = { url: "wss://here/ws", token: "gsv_secret" };
    await updateConfigFile(file, { gateway, deploy: { stage: "dev" } });
    const shown = await run(["show"]);
    expect(shown.stdout).toBe("gateway.url = wss://here/ws\ngateway.token = ***\ndeploy.stage = dev\n");
    const json = await run(["show", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({
      file,
      settings: { "gateway.url": "wss://here/ws", "gateway.token": "***", "deploy.stage": "dev" },
    });
  });

  it("sets and gets one setting, in a file that only the user can read", async () => {
    expect((await run(["set", "session.default_key", "agent:main:work"])).code).toBe(0);
    expect((await run(["get", "session.default_key"])).stdout).toBe("agent:main:work\n");
    expect((await run(["get", "node.id"])).stdout).toBe("(not set)\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("reads a token from standard input, and shows it only on request", async () => {
    const { stdout, stderr } = await run(["set", "gateway.token", "-"], "gsv_secret\n");
    expect(stdout + stderr).not.toContain("gsv_secret");
    expect(readFileSync(file, "utf8")).toContain('token = "gsv_secret"');
    expect((await run(["get", "gateway.token"])).stdout).toBe("gsv_secret\n");
  });

  it("makes the folder of a node absolute, because it is read from anywhere", async () => {
    await run(["set", "node.workspace", "projects"]);
    expect((await run(["get", "node.workspace"])).stdout).toBe(`${join(home, "projects")}\n`);
  });

  it("prints the path of the file, even if it does not exist", async () => {
    expect((await run(["path"])).stdout).toBe(`${file}\n`);
    expect((await run(["show"])).stdout).toBe(`${file} has no settings; \`gsv init\` writes them\n`);
  });

  it.each([
    [
      ["get", "gateway.colour"],
      "there is no setting gateway.colour; use one of gateway.url, gateway.token, node.id",
    ],
    [["set", "gateway", "x"], "no setting gateway;"],
    [["get", "gateway.ulr"], "no setting gateway.ulr (did you mean gateway.url?); use one of"],
    [["set", "gateway.url", "https://x"], "the gateway url must start with wss://"],
    [["set", "chat.cost_line", "no"], "chat.cost_line must be on or off, not no"],
    [["set", "node.id", "my laptop!"], "a node's id has at most 64 letters, digits and . _ : @ -"],
    [["set", "gateway.token"], "no value for gateway.token"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe("gsv init over the config file of another gateway", () => {
  let gateway: FakeGateway;
  const theirs = { url: "wss://other/ws", token: "the only copy" };
  const init = (...args: string[]) =>
    gsv(["init", "-u", gateway.url, "-t", "good-token", ...args], { cwd: home });
  beforeEach(async () => {
    gateway = await startFakeGateway({});
    await updateConfigFile(file, { gateway: theirs });
  });
  afterEach(() => gateway.close());

  it("saves nothing, and says how to replace it", async () => {
    const { code, stderr } = await init();
    expect(code).toBe(1);
    expect(stderr).toContain("contains the token of another gateway, wss://other/ws; --force replaces it");
    expect(readFileSync(file, "utf8")).toContain("the only copy");
  });

  it("replaces it with --force", async () => {
    expect((await init("--force")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain(gateway.url);
  });
});
