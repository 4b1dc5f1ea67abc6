import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfigFile, updateConfigFile } from "../../cli/app/config-file.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "./fake-gateway.ts";
import { gsv } from "./run-gsv.ts";

function configIn(home: string, content: string): string {
  const file = join(home, ".config/gsv/config.toml");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode: 0o600 });
  return file;
}

describe("the config file", () => {
  it("can be read only by its owner, and so can its folder", async () => {
    const file = join(newFolder(), "gsv/config.toml");
    await updateConfigFile(file, { gateway: { url: "wss://x/ws", token: "t" } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  it("keeps unknown and unchanged settings", async () => {
    const file = join(newFolder(), "config.toml");
    writeFileSync(file, '[gateway]\nurl = "wss://a/ws"\nextra = 1\n\n[mine]\nkey = [1, 2]\n');
    await updateConfigFile(file, { gateway: { token: "t" }, node: { id: undefined } });
    const content = await readConfigFile(file);
    expect(content).toEqual({ gateway: { url: "wss://a/ws", extra: 1, token: "t" }, mine: { key: [1, 2] } });
  });

  it("loses its permissions for others when it is written", async () => {
    const file = join(newFolder(), "config.toml");
    writeFileSync(file, "", { mode: 0o644 });
    await updateConfigFile(file, { session: { default_key: "k" } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("is refused with file and line when it is malformed", async () => {
    const home = newFolder();
    const file = configIn(home, '[gateway]\nurl = "wss://a"\ntoken = oops\n');
    const run = await gsv(["status"], { cwd: home });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(new RegExp(`^gsv: ${file} line 3, column \\d+: .*\\n$`));
  });

  it("is refused with file and field when a setting has the wrong type", async () => {
    const home = newFolder();
    const file = configIn(home, "[node]\nid = 5\n");
    const run = await gsv(["status"], { cwd: home });
    expect(run.stderr).toBe(`gsv: ${file}: id in [node] must be text in quotes; correct it there\n`);
  });

  it("causes a warning when others can read its token", async () => {
    const home = newFolder();
    const file = configIn(home, '[gateway]\nurl = "ws://127.0.0.1:9/ws"\ntoken = "t"\n');
    chmodSync(file, 0o644);
    const run = await gsv(["status"], { cwd: home });
    expect(run.stderr).toContain(`chmod 600 ${file}`);
  });
});

describe("settings", () => {
  let gateway: FakeGateway;
  let other: FakeGateway;
  beforeEach(async () => {
    gateway = await startFakeGateway({ "token.list": () => ({ tokens: [] }) });
    other = await startFakeGateway({ "token.list": () => ({ tokens: [] }) }, "other-token");
  });
  afterEach(async () => {
    await gateway.close();
    await other.close();
  });

  it("come from the config file when nothing else names them", async () => {
    const home = newFolder();
    configIn(home, `[gateway]\nurl = "${gateway.url}"\ntoken = "good-token"\n`);
    expect((await gsv(["token", "list"], { cwd: home })).code).toBe(0);
    expect(gateway.requests).toHaveLength(1);
  });

  it("come from the environment before the config file", async () => {
    const home = newFolder();
    configIn(home, `[gateway]\nurl = "${gateway.url}"\ntoken = "good-token"\n`);
    const env = { GSV_URL: other.url, GSV_TOKEN: "other-token" };
    expect((await gsv(["token", "list"], { cwd: home, env })).code).toBe(0);
    expect([gateway.requests.length, other.requests.length]).toEqual([0, 1]);
  });

  it("come from flags before the environment, before or after the command", async () => {
    const env = { GSV_URL: other.url, GSV_TOKEN: "other-token" };
    const flags = ["--url", gateway.url, "--token", "good-token"];
    expect((await gsv([...flags, "token", "list"], { env })).code).toBe(0);
    expect((await gsv(["token", "list", ...flags], { env })).code).toBe(0);
    expect([gateway.requests.length, other.requests.length]).toEqual([2, 0]);
  });

  it("come from XDG_CONFIG_HOME where it is set, and from --config before that", async () => {
    const home = newFolder();
    const folder = newFolder();
    mkdirSync(join(folder, "gsv"));
    writeFileSync(
      join(folder, "gsv/config.toml"),
      `[gateway]\nurl = "${gateway.url}"\ntoken = "good-token"\n`,
      {
        mode: 0o600,
      },
    );
    const env = { XDG_CONFIG_HOME: folder };
    expect((await gsv(["token", "list"], { cwd: home, env })).code).toBe(0);
    writeFileSync(join(home, "mine.toml"), `[gateway]\nurl = "${other.url}"\ntoken = "other-token"\n`, {
      mode: 0o600,
    });
    expect((await gsv(["token", "list", "--config", "mine.toml"], { cwd: home, env })).code).toBe(0);
    expect([gateway.requests.length, other.requests.length]).toEqual([1, 1]);
  });

  it("need a token for every url", async () => {
    const run = await gsv(["token", "list", "--url", gateway.url]);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toBe(
      `gsv: no token for ${gateway.url}; pass --token, set GSV_TOKEN, or run \`gsv init\`\n`,
    );
  });
});

describe("gsv init", () => {
  it("tests the connection and writes the file, with the token from standard input", async () => {
    const gateway = await startFakeGateway({});
    const home = newFolder();
    const args = [
      "init",
      "--url",
      gateway.url,
      "--token",
      "-",
      "--node-id",
      "desk",
      "--session",
      "agent:main:work",
    ];
    const run = await gsv(args, { cwd: home, input: "good-token\n" });
    await gateway.close();
    expect(run).toMatchObject({ code: 0 });
    const file = join(home, ".config/gsv/config.toml");
    expect(await readConfigFile(file)).toEqual({
      gateway: { url: gateway.url, token: "good-token" },
      node: { id: "desk" },
      session: { default_key: "agent:main:work" },
    });
    expect(readFileSync(file, "utf8")).toContain("[gateway]");
    expect(run.stdout).not.toContain("good-token");
  });

  it("writes nothing when the gateway refuses the token", async () => {
    const gateway = await startFakeGateway({});
    const home = newFolder();
    const run = await gsv(["init", "--url", gateway.url, "--token", "wrong"], { cwd: home });
    await gateway.close();
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("nothing was saved");
    expect(await readConfigFile(join(home, ".config/gsv/config.toml"))).toEqual({});
  });

  it("saves without connecting with --no-test", async () => {
    const home = newFolder();
    const run = await gsv(["init", "--url", "wss://example.invalid/ws", "--token", "t", "--no-test"], {
      cwd: home,
    });
    expect(run.code).toBe(0);
    const content = await readConfigFile(join(home, ".config/gsv/config.toml"));
    expect(content.gateway?.url).toBe("wss://example.invalid/ws");
  });

  it("refuses an address that is not a WebSocket url", async () => {
    const run = await gsv(["init", "--url", "https://example.invalid", "--token", "t"]);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("start with wss://");
    const there = await gsv(["init", "--url", "ws://gateway.example/ws", "--token", "t", "--no-test"]);
    expect(there).toMatchObject({ code: 2, stderr: expect.stringContaining("start with wss://") });
  });
});
