import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConfigurationStore, openConfiguration } from "../../../../shared/configuration/store.ts";
import { type State, startState } from "../../../support/state.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let state: State;
let configuration: ConfigurationStore;
let gateway: FakeGateway;

beforeEach(async () => {
  state = await startState();
  configuration = openConfiguration(state.table, state.openSecrets("/test"));
  gateway = await startFakeGateway({
    "config.get": ({ params }) => configuration.get(params.path),
    "config.set": ({ params }) => configuration.set(params.path, params.value),
    "agent.init": ({ params }) => ({ agentId: params.agentId, written: ["SOUL.md"] }),
  });
});
afterEach(async () => {
  await gateway.close();
  await state.close();
});

const run = (...args: string[]) =>
  gsv(["agent", ...args], { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const stored = async () => (await configuration.load({ fresh: true })).agents;
const inits = () => gateway.requests.filter(({ method }) => method === "agent.init");

describe("gsv agent", () => {
  it("lists the agent main, which exists without settings", async () => {
    expect((await run("list")).stdout).toMatch(/\nmain \(default\) +\(the gateway's\)\n$/);
  });

  it("adds an agent with its settings, and writes its files", async () => {
    const added = await run("add", "research", "--model", "openrouter/a/b", "--prompt", "Be brief.");
    expect(added.stdout).toContain("gsv client --session agent:research:main");
    expect((await stored()).list).toEqual([
      { id: "research", model: { provider: "openrouter", id: "a/b" }, systemPrompt: "Be brief." },
    ]);
    expect(inits().map(({ params }) => params)).toEqual([{ agentId: "research" }]);
    expect((await run("list")).stdout).toMatch(/\nmain \(default\) .*\nresearch +openrouter\/a\/b\n$/);
  });

  it("makes one agent the default instead of another", async () => {
    await run("add", "one", "--default");
    await run("add", "two", "--default");
    expect((await stored()).list).toEqual([{ id: "one" }, { id: "two", default: true }]);
    expect((await run("list")).stdout).toContain("\ntwo (default)");
  });

  it("shows an agent's bindings, and removes them with it", async () => {
    await run("add", "one");
    await run("add", "two");
    const bindings = [
      { agentId: "one", match: { channel: "telegram", peer: { kind: "group", id: "-5" } } },
      { agentId: "two", match: { channel: "slack" } },
    ];
    await configuration.set("agents.bindings", bindings);
    expect((await run("list")).stdout).toMatch(/\none +\(the gateway's\) +telegram group -5\n/);
    expect((await run("remove", "one")).stderr).toContain("pass --yes");
    expect((await run("remove", "one", "--yes")).stdout).toContain("removed agent one with its binding");
    expect(await stored()).toMatchObject({ list: [{ id: "two" }], bindings: [bindings[1]] });
  });

  it.each([
    [["add", "Upper"], 2, "an agent's id has at most 64 characters of a-z"],
    [["add", "x", "--model", "opus"], 2, "--model must be provider/id"],
    [["add", "work"], 1, "agent work already exists"],
    [["remove", "wrok", "--yes"], 1, "there is no agent wrok (did you mean work?)"],
    [["remove", "main", "--yes"], 1, "there is no agent main"],
  ])("refuses %j, and changes nothing", async (args, exit, message) => {
    await run("add", "work");
    const refused = await run(...args);
    expect(refused.code).toBe(exit);
    expect(refused.stderr).toContain(message);
    expect((await stored()).list).toEqual([{ id: "work" }]);
    expect(inits()).toHaveLength(1);
  });
});
