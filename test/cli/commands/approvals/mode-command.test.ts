import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
let settings: Record<string, unknown>;

beforeEach(async () => {
  settings = {
    toolApproval: { mode: "off", nodes: { laptop: "ask" } },
    "agents.list": [{ id: "work", systemPrompt: "w", toolApproval: { mode: "guard" } }, { id: "home" }],
  };
  gateway = await startFakeGateway({
    "config.get": ({ params: { path } }) => ({ path, value: settings[path] ?? null }),
    "config.set": ({ params: { path, value } }) => {
      settings[path] = value;
      return { ok: true, path };
    },
  });
});
afterEach(() => gateway.close());

const mode = (...args: string[]) =>
  gsv(["approvals", "mode", ...args], { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const lines = async (...args: string[]) => (await mode(...args)).stdout.trimEnd().split("\n");

describe("gsv approvals mode", () => {
  it("shows the mode of all agents, and of the agents and nodes that have their own", async () => {
    expect(await lines()).toEqual([
      "all agents: off – asks nothing, except by rules",
      expect.stringMatching(/^agent work: guard – /),
      "node laptop: ask – asks before everything except reading",
    ]);
    expect(await lines("--agent", "home")).toEqual([expect.stringMatching(/^all agents: off/)]);
    expect(await lines("--node", "laptop")).toEqual([expect.stringMatching(/^node laptop: ask/)]);
    expect(JSON.parse((await mode("--json")).stdout)).toEqual({
      ...{ mode: "off", agents: { work: "guard" }, nodes: { laptop: "ask" } },
    });
  });

  it("reads a gateway of an earlier version as one that asks nothing", async () => {
    settings = {};
    expect(await lines()).toEqual(["all agents: off – asks nothing, except by rules"]);
  });

  it("sets the mode of all agents, of a node by its exact id, and of an agent beside its other settings", async () => {
    expect(await lines("guard")).toEqual([expect.stringMatching(/^all agents: guard/)]);
    await mode("off", "--node", "home.pi");
    await mode("ask", "--agent", "work");
    expect(settings).toMatchObject({
      ...{ "toolApproval.mode": "guard", 'toolApproval.nodes["home.pi"]': "off" },
      "agents.list": [{ id: "work", systemPrompt: "w", toolApproval: { mode: "ask" } }, { id: "home" }],
    });
  });

  it.each([
    [["gaurd"], /the mode must be off, guard, ask, not gaurd \(did you mean guard\?\)/],
    [["ask", "--agent", "wrok"], /there is no agent wrok .*did you mean work\?/],
    [["ask", "--agent", "work", "--node", "laptop"], /--agent or --node, not both/],
  ])("refuses %j and changes nothing", async (args, reason) => {
    const before = structuredClone(settings);
    const { code, stderr } = await mode(...args);
    expect([code, stderr]).not.toEqual([0, expect.anything()]);
    expect(stderr).toMatch(reason);
    expect(settings).toEqual(before);
  });

  it("changes nothing when the gateway refuses", async () => {
    gateway.methods["config.set"] = () => {
      throw new PeerError(403, "config.set needs the scope admin");
    };
    const { code, stderr } = await mode("guard");
    expect(code).not.toBe(0);
    expect(stderr).toContain("admin");
  });
});
