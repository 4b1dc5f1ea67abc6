import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConfigurationStore, openConfiguration } from "../../../../shared/configuration/store.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { type State, startState } from "../../../support/state.ts";
import { type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (args: string[], options: GsvOptions = {}) =>
  gsv(args, { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", ...options.env } });
const answers = (table: Record<string, FakeMethod>) => {
  gateway.methods = table;
};
const lastParams = () => gateway.requests.at(-1)?.params;

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

describe("gsv config", () => {
  it("stores digits as text where the setting is a text, and as a number where it is a number", async () => {
    answers({ "config.set": ({ params }) => ({ ok: true, path: params.path }) });
    const id = "channels.whatsapp.accounts.default.phoneNumberId";
    await run(["config", "set", id, "123456789012345678901"]);
    expect(lastParams()).toEqual({ path: id, value: "123456789012345678901" });
    await run(["config", "set", "timeouts.toolMs", "90000"]);
    expect(lastParams()).toEqual({ path: "timeouts.toolMs", value: 90_000 });
  });

  it("shows a value", async () => {
    answers({ "config.get": () => ({ path: "timeouts", value: { toolMs: 5 } }) });
    expect((await run(["config", "get", "timeouts"])).stdout).toBe('{\n  "toolMs": 5\n}\n');
  });

  it.each([
    ["timeouts.toolMs", "120000", 120_000],
    ["userTimezone", "Europe/Berlin", "Europe/Berlin"],
    ["model", '{"provider":"p","id":"i"}', { provider: "p", id: "i" }],
    ["model", "null", null],
    ["apiKeys.anthropic", "12345", "12345"],
  ])("sets %s to %s", async (path, text, value) => {
    answers({ "config.set": () => ({ ok: true, path }) });
    expect((await run(["config", "set", path, text])).code).toBe(0);
    expect(lastParams()).toEqual({ path, value });
  });

  it.each([[["config", "set", "apiKeys.anthropic", "-"]], [["config", "set", "apiKeys.anthropic"]]])(
    "reads a secret from standard input: %j",
    async (args) => {
      answers({ "config.set": () => ({ ok: true, path: "apiKeys.anthropic" }) });
      const { stdout, stderr } = await run(args, { input: "sk-secret\n" });
      expect(lastParams()).toEqual({ path: "apiKeys.anthropic", value: "sk-secret" });
      expect(stdout + stderr).not.toContain("sk-secret");
    },
  );

  it("warns of a secret on the command line", async () => {
    answers({ "config.set": () => ({ ok: true, path: "apiKeys.anthropic" }) });
    const { stderr } = await run(["config", "set", "apiKeys.anthropic", "sk-secret"]);
    expect(stderr).toContain("shell's history");
    expect((await run(["config", "set", "userTimezone", "UTC"])).stderr).toBe("");
  });

  it("prints the gateway's refusal with its code", async () => {
    answers({
      "config.set": () => {
        throw new PeerError(400, "modle: unknown key");
      },
    });
    const { code, stdout } = await run(["config", "set", "modle", "x", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      error: { code: 400, message: "modle: unknown key (did you mean model?)" },
    });
  });
});

describe("gsv config over a stored configuration", () => {
  let state: State;
  let configuration: ConfigurationStore;
  beforeEach(async () => {
    state = await startState();
    configuration = openConfiguration(state.table, state.openSecrets("/test"));
    answers({
      "config.get": ({ params }) => configuration.get(params.path),
      "config.set": ({ params }) => configuration.set(params.path, params.value),
    });
    await run(["config", "set", "timeouts.toolMs", "90000"]);
    await run(["config", "set", "apiKeys.anthropic", "-"], { input: "sk-secret" });
  });
  afterEach(() => state.close());

  const settings = async (...args: string[]) =>
    JSON.parse((await run(["config", "list", "--json", ...args])).stdout).settings;

  it("lists every setting, with its default if it was changed, and no secret", async () => {
    const { stdout } = await run(["config", "list"]);
    expect(stdout).toMatch(/^SETTING +VALUE +DEFAULT, WHERE CHANGED\n/);
    expect(stdout).toMatch(/\ntimeouts\.toolMs +90000 +60000\n/);
    expect(stdout).toMatch(/\napiKeys\.anthropic +\*\*\* +\(not set\)\n/);
    expect(stdout).toMatch(/\nuserTimezone +UTC\n/);
    expect(stdout).toMatch(/\nagents\.list +\[\]\n/);
    expect(await settings()).toMatchObject({ "timeouts.toolMs": 90_000, "compaction.enabled": true });
  });

  it("lists only changed settings with --changed", async () => {
    expect(await settings("--changed")).toEqual({ "timeouts.toolMs": 90_000, "apiKeys.anthropic": "***" });
    await run(["config", "unset", "timeouts"]);
    await run(["config", "unset", "apiKeys.anthropic"]);
    expect((await run(["config", "list", "--changed"])).stdout).toContain(
      "all settings are at their defaults",
    );
  });

  it("resets a setting to its default, even if it already has it", async () => {
    for (const _time of ["first", "again"])
      expect(await run(["config", "unset", "timeouts.toolMs"])).toMatchObject({
        code: 0,
        stdout: "timeouts.toolMs was reset to its default\n",
      });
    expect((await run(["config", "get", "timeouts.toolMs"])).stdout).toBe("60000\n");
    expect((await run(["config", "get", "model.baseUrl"])).stdout).toBe("(not set)\n");
  });

  it.each([
    [["unset", "timeouts.tolMs"], "there is no setting timeouts.tolMs (did you mean timeouts.toolMs?)"],
    [["get", "modle.id"], "there is no setting modle.id (did you mean model.id?)"],
    [["get", "channels.telegram.dmPolcy"], "(did you mean channels.telegram.dmPolicy?)"],
    [["get", "colour"], "there is no setting colour; `gsv config list` shows them"],
    [["set", "modle", "x"], "modle: unknown key (did you mean model?)"],
    [["set", "agents.lst", "[]"], "agents.lst: unknown key (did you mean agents.list?)"],
  ])("suggests the setting that was meant: %j", async (args, message) => {
    const refused = await run(["config", ...args]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(message);
  });
});
