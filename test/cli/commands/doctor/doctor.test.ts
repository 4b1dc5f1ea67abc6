import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConfigFile, updateConfigFile } from "../../../../cli/app/config-file.ts";
import { Context } from "../../../../cli/app/context.ts";
import { version } from "../../../../cli/app/installation.ts";
import { checkAccount } from "../../../../cli/commands/doctor/doctor-command.ts";
import type { Finding } from "../../../../cli/commands/doctor/finding.ts";
import { checkClock } from "../../../../cli/commands/doctor/gateway-checks.ts";
import { checkNode, checkPorts } from "../../../../cli/commands/doctor/machine-checks.ts";
import { checkRegion } from "../../../../cli/commands/doctor/model-checks.ts";
import { startDev } from "../../../../local/dev/dev.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { occupyPort } from "../../../local/kept-port.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { fakeTerminal } from "../../fake-terminal.ts";
import { gsv } from "../../run-gsv.ts";
import { goodAccount, startFakeAccount } from "./preflight-services.ts";

const account = { accountId: "default", connected: true, authenticated: true, extra: { stopped: false } };

describe("gsv doctor", () => {
  let gateway: FakeGateway;
  let values: Record<string, unknown>;
  let accounts: object[];
  let failing: object[] | undefined;
  let standing: object[];
  let models: object[];
  let unchosen: "told" | undefined;
  beforeEach(async () => {
    values = { model: { provider: "anthropic", id: "m" }, apiKeys: { anthropic: "***" }, channels: {} };
    accounts = [];
    [failing, standing, models, unchosen] = [undefined, [], [], undefined];
    gateway = await startFakeGateway({
      "config.get": ({ params: { path } }) => ({ path, value: values[path] ?? null }),
      "approval.list": () => ({ approvals: [], count: 0, ...(unchosen ? { unchosen } : {}) }),
      "token.list": () => ({ tokens: [{}] }),
      "token.standing": () => ({ tokens: standing }),
      "channels.list": () => ({ channels: accounts.map(() => ({ channel: "telegram" })) }),
      "cron.status": () => ({ failing }),
      "usage.get": () => ({ groups: models }),
      "channel.status": ({ params: { channel } }) => ({ channel, accounts }),
    });
  });
  afterEach(() => gateway.close());

  const env = () => ({ GSV_URL: gateway.url, GSV_TOKEN: "good-token" });
  const run = async (more: Record<string, string> = {}) => {
    const { code, stdout } = await gsv(["doctor", "--json"], { env: { ...env(), ...more } });
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
    const of = (check: string) => checks.find((finding) => finding.check === check);
    return { code, ok, checks, of };
  };

  it("prints a finding for each check, and exits with 0 without faults", async () => {
    const { code, ok, checks } = await run();
    expect([code, ok]).toEqual([0, true]);
    expect(checks.map(({ check, state }) => `${check} ${state}`)).toEqual([
      ...["node ok", "config ok", "ports skipped", "gateway warning", "approvals ok", "token ok", "admin ok"],
      ...["model ok", "prices ok", "channels skipped", "sweep ok", "clock skipped", "region skipped"],
      "quota skipped",
    ]);
    const { stdout } = await gsv(["doctor"], { env: env() });
    expect(stdout).toContain(`✓ node      ${process.versions.node}; gsv ${version}`);
    expect(stdout).toMatch(
      /! gateway .*version 9\.9\.9; this gsv is version .*\n {12}→ update the older one/,
    );
    expect(stdout).toMatch(/\nall checks passed\n$/);
  });

  it("reports until when the previous version can read what this one has stored", async () => {
    values.upgrade = { format: 2, minReader: 1, finishesAt: Date.parse("2026-11-25T12:00:00Z") };
    expect((await run()).of("upgrade")).toMatchObject({
      ...{ state: "ok", found: expect.stringContaining("until 2026-11-25T12:00:00.000Z") },
      todo: expect.stringContaining("gsv config set upgrade finish"),
    });
    values.upgrade = { format: 2, minReader: 2 };
    expect((await run()).of("upgrade")).toBeUndefined();
  });

  it("says that nobody has chosen when the agent asks, and how to", async () => {
    values["toolApproval.mode"] = "guard";
    expect((await run()).of("approvals")).toMatchObject({ state: "ok", found: "mode guard" });
    unchosen = "told";
    expect((await run()).of("approvals")).toMatchObject({
      ...{ state: "warning", todo: expect.stringContaining("gsv approvals mode guard") },
    });
  });

  it("names the models whose calls were charged by estimate, and how to set their price", async () => {
    models = [
      { name: "openai-compatible/llama", estimated: 2 },
      { name: "anthropic/m", estimated: 0 },
    ];
    const { checks } = await run();
    expect(checks.filter(({ check }) => check === "prices")).toEqual([
      expect.objectContaining({
        state: "warning",
        found: expect.stringContaining("the price of openai-compatible/llama is unknown"),
        todo: expect.stringContaining(
          `gsv config set 'budgets.prices.openai-compatible/llama' '{"input": 3, "output": 15}'`,
        ),
      }),
    ]);
  });

  it("lists the items that the gateway's sweep cannot handle", async () => {
    failing = [{ item: "S#agent:main:a META", failures: 3, error: "RangeError", at: 1, retryAt: 2 }];
    const { code, of } = await run();
    expect([code, of("sweep")]).toEqual([
      1,
      {
        ...{ check: "sweep", state: "fault", todo: "gsv logs --gateway" },
        found: "cannot handle S#agent:main:a META: RangeError, 3 times in a row",
      },
    ]);
  });

  it("reports a model without a key, and how to set one", async () => {
    values.apiKeys = {};
    const { code, ok, of } = await run();
    expect([code, ok]).toEqual([1, false]);
    expect(of("model")).toEqual({
      ...{ check: "model", state: "fault", found: "anthropic/m has no key" },
      todo: "gsv config set apiKeys.anthropic -",
    });
  });

  it("checks that the server of a model on this machine answers", async () => {
    const server = await listening((_request, response) => response.writeHead(404).end());
    values.model = { provider: "openai-compatible", id: "llama3", baseUrl: `${server.url}/v1` };
    expect((await run()).of("model")).toMatchObject({ state: "ok" });
    await server.close();
    expect((await run()).of("model")).toMatchObject({
      ...{ state: "fault", found: `nothing answers at ${server.url}/v1` },
      todo: expect.stringContaining("Ollama"),
    });
    values.model = { provider: "openai-compatible", id: "offline", baseUrl: `${server.url}/v1` };
    expect((await run()).of("model")).toMatchObject({ state: "warning" });
  });

  it("distinguishes a refused token from an unreachable gateway", async () => {
    const refused = await run({ GSV_TOKEN: "bad-token" });
    expect(refused.code).toBe(1);
    expect(refused.of("token")).toMatchObject({
      state: "fault",
      todo: expect.stringContaining("gsv token create"),
    });
    const gone = await run({ GSV_URL: "ws://127.0.0.1:9/ws" });
    expect(gone.of("gateway")).toMatchObject({
      state: "fault",
      found: expect.stringContaining("does not answer"),
    });
    const nothing = await gsv(["doctor", "--json"]);
    expect(nothing.code).toBe(1);
    expect(nothing.stdout).toContain("no gateway is configured");
  });

  it("reports what a token without the scope admin may not do, and continues when a check fails", async () => {
    gateway.scopes = ["client"];
    gateway.methods["channels.list"] = () => {
      throw new PeerError(500, "internal error");
    };
    const { of } = await run();
    expect(of("token")).toMatchObject({ state: "ok", found: expect.stringContaining("admin rights") });
    expect(of("channels")).toMatchObject({ state: "fault", found: "internal error" });
    expect(of("model")).toMatchObject({ state: "ok" });
  });

  it("lists tokens whose admin rights do not end, and nodes that run next to one", async () => {
    standing = [
      { id: "old1", name: "laptop", nodes: ["desk"] },
      { id: "old2", name: "phone", nodes: [] },
    ];
    const home = newFolder();
    mkdirSync(join(home, ".config/gsv"), { recursive: true });
    const gatewayOf = (token: string) => `[gateway]\nurl = "${gateway.url}"\ntoken = "${token}"\n`;
    writeFileSync(join(home, ".config/gsv/config.toml"), gatewayOf("good-token"));
    writeFileSync(join(home, ".config/gsv/node-service.toml"), `${gatewayOf("other")}[node]\nid = "here"\n`);
    const found = async () => {
      const { checks } = JSON.parse((await gsv(["doctor", "--json"], { cwd: home })).stdout);
      return checks.flatMap(({ check, found }: Finding) => (check === "admin" ? [found] : []));
    };
    const listed = [
      "the token laptop (old1) has admin rights that do not end",
      "the node desk runs next to a token with admin rights (token old1)",
      "the token phone (old2) has admin rights that do not end",
    ];
    gateway.scopes = ["client", "approve"];
    expect(await found()).toEqual(listed);
    gateway.scopes = ["client", "admin"];
    const file = join(home, ".config/gsv/config.toml");
    expect(await found()).toEqual([
      ...listed,
      `the node here runs next to a token with admin rights (${file})`,
    ]);
  });

  it("reports accounts that receive nothing, are stopped, or have no owner", async () => {
    values.channels = { telegram: {} };
    accounts = [
      account,
      { ...account, accountId: "a", authenticated: false, error: "Unauthorized" },
      { ...account, accountId: "b", extra: { stopped: true } },
    ];
    const { checks } = await run();
    const channels = checks.filter(({ check }) => check === "channels");
    expect(channels.slice(0, 3)).toEqual([
      expect.objectContaining({ state: "warning", todo: "gsv pair approve telegram <your id> --owner" }),
      expect.objectContaining({ state: "fault", found: "telegram/a receives nothing: Unauthorized" }),
      expect.objectContaining({ state: "warning", todo: "gsv channel start telegram b" }),
    ]);
    values.channels = { telegram: { owners: ["1"] } };
    accounts = [account];
    expect((await run()).of("channels")).toMatchObject({ state: "ok", found: "telegram/default works" });
  });

  it("reports a token that others can read, and a broken config file", async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, ".config/gsv"), { recursive: true });
    const file = join(cwd, ".config/gsv/config.toml");
    writeFileSync(file, `[gateway]\nurl = "${gateway.url}"\ntoken = "good-token"\n`);
    const found = async () =>
      JSON.parse((await gsv(["doctor", "--json"], { cwd })).stdout).checks.find(
        ({ check }: Finding) => check === "config",
      );
    chmodSync(file, 0o644);
    expect(await found()).toMatchObject({ state: "warning", todo: `chmod 600 ${file}` });
    writeFileSync(file, "[gateway\n");
    expect(await found()).toMatchObject({ state: "fault", found: expect.stringContaining("line 1") });
  });
});

describe("gsv doctor on this machine", () => {
  it.each([
    ["18.20.0", "fault"],
    ["20.18.3", "fault"],
    ["20.19.0", "ok"],
    ["24.1.0", "ok"],
  ])("Node %s: %s", (running, state) => {
    expect(checkNode(running).state).toBe(state);
  });

  it("checks whether the local gateway's last ports are free, taken, or in use by itself", async () => {
    const folder = newFolder();
    expect(await checkPorts(folder)).toMatchObject({ state: "skipped" });
    const taken = createTcpServer();
    const port = await occupyPort(taken);
    const known = { url: `ws://127.0.0.1:${port}/ws`, token: "t" };
    writeFileSync(join(folder, "cloud.json"), JSON.stringify({ ports: { ws: port } }));
    writeFileSync(join(folder, "gateway.json"), JSON.stringify(known));
    expect(await checkPorts(folder)).toMatchObject({
      ...{ state: "warning", found: `another program uses ws ${port}` },
    });
    writeFileSync(join(folder, "gateway.json"), JSON.stringify({ ...known, pid: process.pid }));
    expect(await checkPorts(folder)).toMatchObject({
      state: "ok",
      found: expect.stringContaining("in use by"),
    });
    await new Promise((resolve) => taken.close(resolve));
    expect(await checkPorts(folder)).toMatchObject({ state: "ok", found: `free: ws ${port}` });
  });
});

describe("gsv doctor beside a stopped local gateway", () => {
  it("agrees with `gsv client` that it is not running, and still checks its settings", async () => {
    const cwd = newFolder();
    await (await startDev({ dir: join(cwd, ".gsv") })).close();
    const message = "the local gateway of .gsv is not running";
    const doctor = await gsv(["doctor"], { cwd });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toContain(`✗ gateway   ${message}\n`);
    expect(doctor.stdout).toContain("→ start it with `gsv dev` or `npm start`");
    expect(doctor.stdout).toMatch(/ token +may chat and read/);
    expect((await gsv(["client", "hello"], { cwd })).stderr).toContain(message);
  });
});

describe("gsv doctor for a gateway on AWS", () => {
  it("compares the clock with the gateway's", async () => {
    const server = await listening((_request, response) => response.writeHead(403).end());
    const url = `${server.url.replace("http:", "ws:")}/ws`;
    const findingAt = (ms: number) => checkClock(url, () => Date.now() + ms);
    expect(await findingAt(0)).toMatchObject({ state: "ok" });
    expect(await findingAt(90_000)).toMatchObject({
      state: "warning",
      found: expect.stringMatching(/ahead of/),
    });
    expect(await findingAt(-600_000)).toMatchObject({
      state: "fault",
      found: expect.stringMatching(/behind .*refuses/),
    });
    await server.close();
    expect(await findingAt(0)).toMatchObject({ state: "skipped" });
  });

  it.each([
    [{}, "ok"],
    [{ AWS_REGION: "us-east-1" }, "warning"],
    [{ AWS_REGION: "eu-central-1" }, "ok"],
  ])("compares the gateway's region with that of %j", (env, state) => {
    expect(checkRegion("eu-central-1", env).state).toBe(state);
  });

  describe("of a gateway on AWS", () => {
    const url = "wss://abc.execute-api.eu-central-1.amazonaws.com/ws";
    const model = { provider: "amazon-bedrock", id: "global.anthropic.claude-sonnet-4-6" };
    const saved = { ...process.env };
    afterEach(() => {
      process.env = { ...saved };
    });
    const check = async (endpoint: string, config: ConfigFile) => {
      const home = newFolder();
      await updateConfigFile(join(home, ".config/gsv/config.toml"), config);
      const context = new Context(fakeTerminal({ HOME: home, AWS_ENDPOINT_URL: endpoint }, home), {});
      return checkAccount(context, url, model);
    };
    const ours = {
      gateway: { url, token: "t" },
      deploy: { stage: "home" },
      aws: { account: "111122223333" },
    };

    it("runs the preflight of its region, and of its stage if this machine has deployed it", async () => {
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" });
      const state = goodAccount();
      state.stacks["gsv-home"] = { status: "UPDATE_ROLLBACK_FAILED" };
      const fake = await startFakeAccount(state);
      const faults = async (config: ConfigFile) =>
        (await check(fake.url, config)).filter((one) => one.state === "fault").map(({ found }) => found);
      expect(await faults(ours)).toEqual(["gsv-home is UPDATE_ROLLBACK_FAILED"]);
      expect(await faults({ ...ours, aws: { account: "9" } })).toEqual([
        "these credentials belong to the account 111122223333, but gsv-home was deployed to 9",
      ]);
      expect(await faults({ ...ours, gateway: { url: "wss://other/ws" } })).toEqual([]);
      await fake.close();
    });

    it("checks nothing without credentials, because others use the gateway, too", async () => {
      for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"])
        delete process.env[name];
      const none = join(newFolder(), "none");
      Object.assign(process.env, { AWS_SHARED_CREDENTIALS_FILE: none, AWS_CONFIG_FILE: none });
      process.env.AWS_EC2_METADATA_DISABLED = "true";
      expect((await check("http://localhost:1", ours)).map(({ check, state }) => [check, state])).toEqual([
        ["region", "ok"],
        ["aws", "skipped"],
      ]);
    });
  });
});

/** An HTTP server on this machine. */
async function listening(
  answer: Parameters<typeof createServer>[1],
): Promise<{ url: string; close(): Promise<void> }> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
