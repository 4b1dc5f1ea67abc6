import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { Context } from "../../../../cli/app/context.ts";
import { failureOf } from "../../../../cli/app/failure.ts";
import type { GlobalOptions, Invocation } from "../../../../cli/app/options.ts";
import { serviceCommands } from "../../../../cli/commands/daemon/service-commands.ts";
import { followLog } from "../../../../cli/commands/logs/log-files.ts";
import { nodeService } from "../../../../cli/commands/node/supervised-node.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { until } from "../../../support/until.ts";
import { startFakeGateway } from "../../fake-gateway.ts";
import { type FakeSupervisors, fakeSupervisors } from "./fake-supervisors.ts";

let home: string;
let machine: FakeSupervisors;
beforeEach(() => {
  home = join(newFolder(), 'a "home" of 100%');
  mkdirSync(join(home, "projects"), { recursive: true });
  machine = fakeSupervisors(dirname(home));
});

type Name = keyof ReturnType<typeof serviceCommands>;
interface Run {
  options?: Invocation["options"];
  flags?: GlobalOptions;
  env?: Record<string, string>;
  platform?: NodeJS.Platform;
  input?: string;
}

/** Runs `gsv node NAME --json`. @returns its output, or its error's message */
async function run(name: Name, { options = {}, flags, env, platform = "linux", input }: Run = {}) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input ?? "");
  const terminal = { stdin, stdout, stderr, cwd: home, env: { HOME: home, ...machine.env, ...env } };
  const context = new Context(terminal, { json: true, ...flags });
  try {
    await serviceCommands(nodeService, platform)[name](context, { args: [], options });
  } catch (error) {
    return { error: failureOf(error).message };
  }
  return JSON.parse(String(stdout.read() ?? "{}"));
}

/** Runs `gsv node NAME` as a user does. @returns its standard output */
async function printed(name: Name): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = { stdin, stdout, stderr, cwd: home, env: { HOME: home, ...machine.env } };
  await serviceCommands(nodeService, "linux")[name](new Context(terminal, {}), { args: [], options: {} });
  return String(stdout.read() ?? "");
}

const gateway = { url: "wss://abc.example/ws", token: "gsv_secret" };
const install = (more: Run = {}) =>
  run("install", { flags: gateway, options: { id: "laptop", workspace: "projects" }, ...more });
const config = () => join(home, ".config/gsv/node-service.toml");
const unit = () => join(home, ".config/systemd/user/gsv-node.service");
const log = () => join(home, ".local/state/gsv/node.log");

describe("gsv node install on Linux", () => {
  it("writes a unit without the token, and a file with the token that only the user can read", async () => {
    expect(await install()).toMatchObject({
      ok: true,
      nodeId: "laptop",
      supervisor: "systemd",
      file: unit(),
    });
    const text = readFileSync(unit(), "utf8");
    expect(text).not.toContain("gsv_secret");
    expect(text).toContain("\nRestart=always\n");
    expect(text).toContain("\nStartLimitIntervalSec=0\n");
    expect(text).toContain("\nWantedBy=default.target\n");
    const quoted = home.replaceAll('"', '\\"').replaceAll("%", "%%");
    expect(text).toContain(`"--config" "${quoted}/.config/gsv/node-service.toml" "node" "--unattended"`);
    expect(text).toContain(`WorkingDirectory=${home.replaceAll("%", "%%")}/projects\n`);
    expect(statSync(config()).mode & 0o777).toBe(0o600);
    expect(readFileSync(config(), "utf8")).toContain('token = "gsv_secret"');
  });

  it("makes a token for the node when the stored one is a client's or an admin's, and keeps one that a node may use", async () => {
    const fake = await startFakeGateway({
      "token.list": () => ({ tokens: [{ name: "laptop" }] }),
      "token.create": () => ({ token: "gsv_of_the_node" }),
    });
    const env = { GSV_URL: fake.url, GSV_TOKEN: "good-token" };
    fake.scopes = ["client", "node", "approve"];
    expect(await install({ flags: {}, env })).toMatchObject({ ok: true });
    expect(readFileSync(config(), "utf8")).toContain('token = "good-token"');
    expect(fake.requests).toEqual([]);
    for (const scopes of [
      ["client", "approve"],
      ["client", "node", "admin"],
    ] as const) {
      fake.scopes = [...scopes];
      expect(await install({ flags: {}, env })).toMatchObject({ ok: true });
      expect(readFileSync(config(), "utf8")).toContain('token = "gsv_of_the_node"');
      expect(fake.requests.splice(0).at(-1)).toMatchObject({
        params: { name: "laptop-2", scopes: ["node"] },
      });
      await run("uninstall");
    }
    await fake.close();
  });

  it("writes a unit that systemd accepts without warnings", async () => {
    await install();
    const env = { ...process.env, XDG_RUNTIME_DIR: home };
    const verified = spawnSync("systemd-analyze", ["verify", "--user", unit()], { encoding: "utf8", env });
    // Without that program, or without a user of it, only the test before looks at the text.
    if (verified.error !== undefined || verified.stderr.includes("Failed to initialize")) return;
    expect(verified.stderr.split("\n").filter((line) => line.includes("gsv-node"))).toEqual([]);
  });

  it("starts it now and at each boot, and makes it survive a logout", async () => {
    expect(await install()).not.toHaveProperty("todo");
    const { username } = userInfo();
    expect(machine.calls()).toEqual([
      "systemctl --user show-environment",
      "systemctl --user daemon-reload",
      "systemctl --user enable gsv-node.service",
      "systemctl --user restart gsv-node.service",
      `loginctl show-user ${username} --property=Linger`,
      `loginctl enable-linger ${username}`,
    ]);
  });

  it("shows the command to run when only an administrator may make it survive a logout", async () => {
    const { todo } = await install({ env: { NO_POLKIT: "1" } });
    expect(todo).toContain(`sudo loginctl enable-linger ${userInfo().username}`);
  });

  it("may be repeated with other settings", async () => {
    await install();
    await install({ options: { id: "desk", workspace: "." }, flags: { ...gateway, token: "gsv_new" } });
    const text = readFileSync(config(), "utf8");
    expect(text).toContain('id = "desk"');
    expect(text).toContain('token = "gsv_new"');
    expect(machine.calls().filter((call) => call.includes("restart"))).toHaveLength(2);
  });

  it("reads a token from standard input", async () => {
    await install({ flags: { ...gateway, token: "-" }, input: "gsv_typed\n" });
    expect(readFileSync(config(), "utf8")).toContain('token = "gsv_typed"');
  });

  it.each([
    [
      "there is no systemd",
      { PATH: "/nowhere" },
      /^systemd does not run on this machine.*gsv node --unattended/,
    ],
    ["nothing of it answers", { NO_BUS: "1" }, /^systemd does not (run|answer).*gsv node --unattended/],
  ])("says what to do instead when %s, and writes nothing", async (_case, env, message) => {
    expect((await install({ env })).error).toMatch(message);
    expect([unit(), config()].filter(existsSync)).toEqual([]);
  });

  it("refuses a workspace that is not a folder", async () => {
    expect((await install({ options: { workspace: "nowhere" } })).error).toContain("is not a folder");
    expect(existsSync(unit())).toBe(false);
  });

  it("says that other systems have no service", async () => {
    expect((await install({ platform: "win32" })).error).toMatch(
      /^gsv cannot install a service on win32; run/,
    );
  });
});

describe("an installed node", () => {
  it("shows that it is running, since when, and its last error", async () => {
    await install();
    mkdirSync(dirname(log()), { recursive: true });
    const lines = [
      "2026-11-22T20:00:00.000Z connected as c1",
      "2026-11-22T20:10:00.000Z disconnected: the gateway stopped answering; next attempt in 5 ms",
      "2026-11-22T20:10:01.000Z connected as c2",
      "2026-11-22T20:11:00.000Z call Bash",
    ];
    writeFileSync(log(), `${lines.join("\n")}\n`);
    const status = await run("status");
    expect(status).toMatchObject({
      ...{ installed: true, running: true, pid: 42, since: Date.UTC(2026, 10, 22, 20, 24, 33) },
      ...{ nodeId: "laptop", url: gateway.url, survivesLogout: true, lastExit: "exit-code (status 1)" },
      last: { at: "2026-11-22T20:10:01.000Z", text: "connected as c2" },
      lastError: { at: "2026-11-22T20:10:00.000Z" },
    });
    expect(JSON.stringify(status)).not.toContain("gsv_secret");
  });

  it("lists the MCP servers of the node that runs", async () => {
    await install();
    const write = (pid: number) => {
      const servers = [
        { name: "browser", state: "running", tools: 25, restarts: 0, pid: 7 },
        { name: "home", state: "waiting", tools: 0, restarts: 3, error: "it ended (exit 1)" },
        { name: "off", state: "disabled" },
      ];
      const faults = ["far: it has an address"];
      const folder = join(dirname(config()), "node");
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        join(folder, "mcp-status.json"),
        JSON.stringify({ pid, file: "mcp.json", servers, faults }),
      );
    };
    write(process.pid);
    expect(await run("status")).toMatchObject({
      mcp: { servers: [{ name: "browser" }, {}, { state: "disabled" }] },
    });
    const stdout = await printed("status");
    expect(stdout).toMatch(/mcp browser +running, 25 tools\n/);
    expect(stdout).toMatch(/mcp home +waiting, 0 tools, started again 3 times, it ended \(exit 1\)\n/);
    expect(stdout).toMatch(/mcp off +disabled\nmcp fault +far: it has an address/);
    write(2 ** 22 + 1);
    expect(await run("status"), "of a node that has ended").not.toHaveProperty("mcp");
  });

  it("stops and starts", async () => {
    await install();
    await run("stop");
    expect(await run("status")).toMatchObject({ installed: true, running: false });
    await run("start");
    expect(await run("status")).toMatchObject({ installed: true, running: true });
  });

  it("is removed with its token, any number of times", async () => {
    await install();
    expect(await run("uninstall")).toMatchObject({ removed: true });
    expect([unit(), config()].filter(existsSync)).toEqual([]);
    expect(machine.calls()).toContain("systemctl --user disable --now gsv-node.service");
    expect(await run("uninstall")).toMatchObject({ ok: true, removed: false });
    expect(await run("status")).toMatchObject({ installed: false, running: false });
    expect((await run("start")).error).toContain("`gsv node install`");
  });

  it("loses its token even when the supervisor cannot be reached, and is removed once it can", async () => {
    await install();
    const { error } = await run("uninstall", { env: { NO_BUS: "1" } });
    expect([unit(), config()].filter(existsSync)).toEqual([unit()]);
    expect(error).toMatch(/^the token was removed, but the service was not.*systemd does not (run|answer)/);
    expect(await run("uninstall")).toMatchObject({ removed: true });
    expect([unit(), config()].filter(existsSync)).toEqual([]);
  });

  it("shows the newest lines of its log", async () => {
    mkdirSync(dirname(log()), { recursive: true });
    writeFileSync(log(), "one\ntwo\nthree\n");
    expect(await run("logs", { options: { lines: "2" } })).toEqual({ file: log(), lines: ["two", "three"] });
  });

  it("says of a missing log that nothing is installed, or that nothing was logged", async () => {
    const { error } = await run("logs");
    expect(error).toContain(
      `there is no log ${log()}: the node is not installed as a service; \`gsv node install\``,
    );
    expect((await run("logs", { options: { follow: true } })).error).toBe(error);
    await install();
    const shown = await printed("logs");
    expect(shown).toContain(
      `${log()} does not exist yet: the service has logged nothing; \`gsv node status\``,
    );
  });
});

describe("gsv node install on macOS", () => {
  const file = () => join(home, "Library/LaunchAgents/gsv.node.plist");
  const onMac = (name: Name, more: Run = {}) => run(name, { platform: "darwin", ...more });

  it("writes an agent that is kept alive, without the token", async () => {
    const options = { id: "mac", workspace: "projects" };
    expect(await onMac("install", { flags: gateway, options })).toMatchObject({
      supervisor: "launchd",
      file: file(),
    });
    const text = readFileSync(file(), "utf8");
    expect(text).not.toContain("gsv_secret");
    const list = readPropertyList(text);
    expect(list).toMatchObject({ Label: "gsv.node", RunAtLoad: true, KeepAlive: true, ThrottleInterval: 10 });
    expect(list.WorkingDirectory).toBe(join(home, "projects"));
    const args = ["--config", config(), "node", "--unattended", join(home, "Library/Logs/gsv/node.log")];
    expect((list.ProgramArguments as string[]).slice(2)).toEqual(args);
    expect(list.StandardErrorPath).toBe(join(home, "Library/Logs/gsv/node.out"));
  });

  it("loads, shows, stops, starts and removes it", async () => {
    const options = { id: "mac", workspace: "." };
    await onMac("install", { flags: gateway, options });
    expect(await onMac("status")).toMatchObject({
      running: true,
      pid: 77,
      lastExit: "exit code 1",
      survivesLogout: false,
    });
    await onMac("stop");
    expect(await onMac("status")).toMatchObject({ installed: true, running: false });
    await onMac("start");
    expect(await onMac("status")).toMatchObject({ running: true });
    await onMac("uninstall");
    expect(existsSync(file())).toBe(false);
    const domain = `gui/${userInfo().uid}`;
    const loads = machine.calls().filter((call) => / boot(strap|out) /.test(call));
    const [load, unload] = [
      `launchctl bootstrap ${domain} ${file()}`,
      `launchctl bootout ${domain}/gsv.node`,
    ];
    expect(loads).toEqual([unload, load, unload, load, unload]);
  });
});

describe("gsv node logs -f", () => {
  it("prints new lines, even when the log is rotated meanwhile", async () => {
    const file = join(home, "node.log");
    writeFileSync(file, "old\n");
    let [seen, end] = ["", () => {}];
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const following = followLog(file, 4, (text) => (seen += text), ended);
    appendFileSync(file, "one\n");
    await until(() => seen === "one\n" || undefined, "the first line");
    appendFileSync(file, "two\n");
    renameSync(file, `${file}.1`);
    writeFileSync(file, "three\n");
    await until(() => seen === "one\ntwo\nthree\n" || undefined, "the lines of both files");
    end();
    await following;
  });
});

/** Reads a property list of strings, integers, booleans, arrays and dictionaries. Throws at anything else. */
function readPropertyList(text: string): Record<string, unknown> {
  const body = /^<\?xml [^>]*\?>\n<!DOCTYPE plist [^>]*>\n<plist version="1.0">([\s\S]*)<\/plist>\n$/.exec(
    text,
  )?.[1];
  const tokens = [...(body ?? "").matchAll(/<(\/?\w+)(\/?)>|([^<]+)/g)].filter(
    ([whole]) => whole.trim() !== "",
  );
  let at = 0;
  const take = () => tokens[at++] ?? [];
  const textOf = (name: string): string => {
    const [, , , said = ""] = take();
    expect(take()[1]).toBe(`/${name}`);
    return said.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  };
  const value = (): unknown => {
    const [whole, name = ""] = take();
    if (name === "string") return textOf(name);
    if (name === "integer") return Number(textOf(name));
    if (whole === "<true/>") return true;
    const list: unknown[] = [];
    const dictionary: Record<string, unknown> = {};
    while (tokens[at]?.[1] !== `/${name}`) {
      if (name === "array") list.push(value());
      else if (name === "dict" && take()[1] === "key") dictionary[textOf("key")] = value();
      else throw new Error(`unexpected ${whole}`);
    }
    take();
    return name === "array" ? list : dictionary;
  };
  return value() as Record<string, unknown>;
}
