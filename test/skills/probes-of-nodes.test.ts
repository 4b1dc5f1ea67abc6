import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTimerHandler } from "../../functions/timer/timer-handler.ts";
import { listPeers } from "../../shared/peers/registry.ts";
import type { Events } from "../../shared/protocol/events.ts";
import type { SkillsResult, SkillsUpdate } from "../../shared/protocol/skill-schemas.ts";
import type { Key } from "../../shared/world/world.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let world: SocketWorld;
let gateway: SocketFunction;
let token: string;
let sockets = 0;

/** A skill that needs these programs. */
const skill = (...bins: string[]) =>
  `---\ndescription: needs ${bins}\nmetadata: {gsv: {requires: {bins: [${bins.join(", ")}]}}}\n---\nUse it.`;

const runtime = {
  hostRole: "execution",
  hostCapabilities: ["filesystem.list", "filesystem.read", "filesystem.write", "shell.exec"],
  toolCapabilities: { Bash: ["shell.exec"] },
};

beforeEach(async () => {
  state = await startState();
  world = openSocketWorld(state);
  gateway = world.start();
  ({ token } = await world.token(["client", "node", "admin"]));
  await state.bucket.put("skills/github/SKILL.md", skill("gh"));
});
afterEach(() => state.close());

async function connect(mode: "node" | "client", id: string, nodeRuntime: object = runtime): Promise<string> {
  const connectionId = `${id}-${++sockets}`;
  await gateway.open(connectionId, token);
  const client = { id, version: "0", platform: "test", mode };
  const tools = [{ name: "Bash", description: "", inputSchema: { type: "object" } }];
  const node = mode === "node" ? { tools, nodeRuntime } : {};
  const params = { minProtocol: 1, maxProtocol: 1, client, ...node };
  expect(await gateway.request(connectionId, "connect", params)).toMatchObject({ ok: true });
  return connectionId;
}

type Request = Parameters<SocketFunction["request"]>;

/** What a request is answered with, which succeeds. */
async function ask<Result>(...request: Request): Promise<Result> {
  const answer = await gateway.request(...request);
  expect(answer).toMatchObject({ ok: true });
  return (answer as { payload: Result }).payload;
}

/** The probes that reached a connection. */
const probes = (connectionId: string) =>
  world
    .events(connectionId)
    .filter(({ event }) => event === "node.probe")
    .map(({ payload }) => payload as Events["node.probe"]);

const answer = (connectionId: string, probeId: string, bins: object, ok = true) =>
  ask(connectionId, "node.probe.result", { probeId, ok, bins });

const status = async () => {
  const client = await connect("client", "c");
  return ask<SkillsResult>(client, "skills.status");
};

/** The nodes on which the skill of this folder can be used. */
const hostsOf = async (directory: string) =>
  (await status()).skills.find(({ location }) => location.includes(`/${directory}/`))?.eligibleHosts;

/** Has the timer handle the schedules that are due, and moves the clock. */
async function later(ms: number): Promise<void> {
  world.clock.later += ms;
  const timer = createTimerHandler(world.outside);
  const due = world.schedules.made.filter(({ at }) => at <= world.now());
  world.schedules.made = world.schedules.made.filter((one) => !due.includes(one));
  for (const { event } of due) await timer(event, {} as Parameters<typeof timer>[1]);
}

describe("a node that connects", () => {
  it("is asked, after its answer, for the programs of every agent's enabled skills", async () => {
    const client = await connect("client", "owner");
    await state.bucket.put("agents/main/skills/own/SKILL.md", skill("jq", "gh", "bad name", "../sh"));
    await state.bucket.put("agents/chef/skills/soup/SKILL.md", skill("pot"));
    await state.bucket.put("agents/unknown/skills/x/SKILL.md", skill("nobody"));
    await state.bucket.put("skills/off/SKILL.md", skill("never"));
    await state.bucket.put(
      "skills/any/SKILL.md",
      "---\nmetadata: {gsv: {requires: {anyBins: [curl, wget]}}}\n---\nx",
    );
    await ask(client, "config.set", { path: "agents.list", value: [{ id: "chef" }] });
    await ask(client, "config.set", { path: "skills.entries.off", value: { enabled: false } });
    const node = await connect("node", "laptop");
    const frames = world.posted.get(node) ?? [];
    expect(frames.map((frame) => (frame.type === "evt" ? frame.event : frame.type))).toEqual([
      "res",
      "node.probe",
    ]);
    expect(probes(node)).toEqual([
      {
        probeId: expect.any(String),
        kind: "bins",
        bins: ["curl", "gh", "jq", "pot", "wget"],
        timeoutMs: 15_000,
      },
    ]);
  });

  it("is not asked when it runs no commands, or when no skill needs a program", async () => {
    const hostCapabilities = ["text.search"];
    const special = {
      ...runtime,
      hostRole: "specialized",
      hostCapabilities,
      toolCapabilities: { Bash: hostCapabilities },
    };
    expect(probes(await connect("node", "searcher", special))).toEqual([]);
    await state.bucket.delete("skills/github/SKILL.md");
    expect(probes(await connect("node", "laptop"))).toEqual([]);
  });

  it("costs one listing of a folder for each agent and one more, and nothing within half a minute", async () => {
    const asked: string[] = [];
    const { bucket } = world.outside;
    const counting = (name: "get" | "list") => {
      const call = bucket[name] as (key: string, ...rest: never[]) => Promise<unknown>;
      return (key: string, ...rest: never[]) => {
        asked.push(`${name} ${key}`);
        return call(key, ...rest);
      };
    };
    world.outside.bucket = { ...bucket, get: counting("get"), list: counting("list") } as typeof bucket;
    gateway = world.start();
    await connect("node", "laptop");
    expect(asked).toEqual(["list agents/main/skills/", "list skills/", "get skills/github/SKILL.md"]);
    await connect("node", "server");
    expect(asked).toHaveLength(3);
    world.clock.later += 30_000;
    await connect("node", "laptop");
    expect(asked.slice(3)).toEqual(["list agents/main/skills/", "list skills/"]);
  });

  it("is asked although the timer cannot be set", async () => {
    const node = await connect("node", "laptop");
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    world.schedules.refuse = true;
    const client = await connect("client", "c");
    const update = await ask<SkillsUpdate>(client, "skills.update", { force: true });
    expect(update).toMatchObject({ updatedNodeCount: 1, errors: [] });
    expect(probes(node)).toHaveLength(2);
  });

  it("waits for no call of the table more than a client does", async () => {
    const order: string[] = [];
    const table = { ...state.table };
    const track = (name: "get" | "update") => {
      const call = state.table[name] as (key: Key, ...args: never[]) => Promise<unknown>;
      Object.assign(table, {
        [name]: (key: Key, ...args: never[]) => {
          order.push(`${name} ${key.pk.split("#")[0]}`);
          return call(key, ...args).finally(() => order.push("done"));
        },
      });
    };
    track("get");
    track("update");
    const socket = world.start(table);
    await socket.open("first", token);
    const client = { id: "laptop", version: "0", platform: "test", mode: "node" };
    const tools = [{ name: "Bash", description: "", inputSchema: { type: "object" } }];
    await socket.request("first", "connect", {
      minProtocol: 1,
      maxProtocol: 1,
      client,
      tools,
      nodeRuntime: runtime,
    });
    const begun = order.indexOf("get NODE");
    const beside = order.indexOf("update ID");
    expect(begun).toBeGreaterThanOrEqual(0);
    // Both are under way before one of them is done.
    expect(Math.abs(begun - beside)).toBe(1);
  });
});

describe("what a node answers", () => {
  it("makes a skill usable there, once; a late, repeated or unknown answer is dropped", async () => {
    const node = await connect("node", "laptop");
    expect(await status()).toMatchObject({
      agentId: "main",
      requiredBins: ["gh"],
      nodes: [{ nodeId: "laptop", hostBins: [], canProbeBins: true }],
      skills: [{ name: "github", eligible: false, eligibleHosts: [], reasons: ["laptop: no program gh"] }],
    });
    const [probe] = probes(node);
    expect(await answer(node, "another", { gh: true })).toEqual({ ok: true, dropped: true });
    expect(await answer(node, probe!.probeId, { gh: true, curl: true })).toEqual({ ok: true });
    expect(await answer(node, probe!.probeId, { gh: false })).toEqual({ ok: true, dropped: true });
    expect(await status()).toEqual({
      agentId: "main",
      refreshedAt: expect.any(Number),
      requiredBins: ["gh"],
      nodes: [
        {
          nodeId: "laptop",
          hostRole: "execution",
          hostCapabilities: runtime.hostCapabilities,
          hostEnv: [],
          hostBins: ["gh"],
          hostBinStatusUpdatedAt: expect.any(Number),
          canProbeBins: true,
        },
      ],
      skills: [
        {
          name: "github",
          description: "needs gh",
          location: "skills/github/SKILL.md",
          always: false,
          eligible: true,
          eligibleHosts: ["laptop"],
          reasons: [],
          requirements: { bins: ["gh"] },
        },
      ],
    });
  });

  it("is taken from nodes alone, and from the node that was asked alone", async () => {
    const node = await connect("node", "laptop");
    const other = await connect("node", "server");
    const client = await connect("client", "c");
    const params = { probeId: probes(node)[0]!.probeId, ok: true, bins: { gh: true } };
    expect(await world.start().request(client, "node.probe.result", params)).toMatchObject({
      ok: false,
      error: { code: 403 },
    });
    expect(await ask(other, "node.probe.result", params)).toEqual({ ok: true, dropped: true });
    expect(await hostsOf("github")).toEqual([]);
  });

  it("is stored with what the node announces", async () => {
    const node = await connect("node", "laptop", { ...runtime, hostBinStatus: { jq: true, gh: true } });
    expect((await status()).nodes[0]?.hostBins).toEqual(["gh", "jq"]);
    await answer(node, probes(node)[0]!.probeId, { gh: false });
    expect((await status()).nodes[0]?.hostBins).toEqual(["jq"]);
  });

  it("is there at once when the node connects again, without another probe for five minutes", async () => {
    const node = await connect("node", "laptop");
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    await world.start().end(node);
    expect(await hostsOf("github")).toEqual([]);
    world.clock.later += 60_000;
    expect(probes(await connect("node", "laptop"))).toEqual([]);
    expect(await hostsOf("github")).toEqual(["laptop"]);
    world.clock.later += 300_000;
    expect(probes(await connect("node", "laptop"))).toMatchObject([{ bins: ["gh"] }]);
    expect(await hostsOf("github")).toEqual(["laptop"]);
  });

  it("is there when the node connects again, before the gateway has looked for skills", async () => {
    const node = await connect("node", "laptop", { ...runtime, hostBinStatus: { jq: true } });
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    const list = () => Promise.reject(new Error("the bucket does not answer"));
    world.outside.bucket = { ...world.outside.bucket, list };
    gateway = world.start();
    await connect("node", "laptop", { ...runtime, hostBinStatus: { curl: true } });
    const [peer] = await listPeers(state.table, "node", world.now());
    expect(peer?.runtime?.hostBinStatus).toEqual({ gh: true, curl: true });
  });

  it("is forgotten with the node's id", async () => {
    const node = await connect("node", "Laptop");
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    const client = await connect("client", "c");
    await ask(client, "node.forget", { nodeId: "laptop", force: true });
    await connect("node", "Laptop");
    expect(await hostsOf("github")).toEqual([]);
  });
});

describe("a probe that is lost", () => {
  it("is sent once more by the timer, then given up; the next update asks again", async () => {
    const node = await connect("node", "laptop");
    const [first] = probes(node);
    await later(15_000);
    expect(probes(node)).toEqual([first, first]);
    await later(15_000);
    expect(probes(node)).toHaveLength(2);
    expect(await answer(node, first!.probeId, { gh: true })).toEqual({ ok: true, dropped: true });
    const client = await connect("client", "c");
    expect(await ask(client, "skills.update")).toMatchObject({ updatedNodeCount: 1 });
    const again = probes(node)[2]!;
    expect(again.probeId).not.toBe(first?.probeId);
    await answer(node, again.probeId, { gh: true });
    expect(await hostsOf("github")).toEqual(["laptop"]);
  });

  it("is not sent again once it was answered", async () => {
    const node = await connect("node", "laptop");
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    await later(15_000);
    expect(probes(node)).toHaveLength(1);
  });

  it("is sent again under its id when the node comes back, until it is too old", async () => {
    const first = await connect("node", "laptop");
    await world.start().end(first);
    await later(60_000);
    const second = await connect("node", "laptop");
    expect(probes(second)).toEqual(probes(first));
    await world.start().end(second);
    world.clock.later += 600_000;
    const third = await connect("node", "laptop");
    expect(probes(third)).toHaveLength(1);
    expect(probes(third)[0]?.probeId).not.toBe(probes(first)[0]?.probeId);
  });

  it("reaches the node that answers it on its next connection", async () => {
    const first = await connect("node", "laptop");
    const second = await connect("node", "laptop");
    await answer(second, probes(first)[0]!.probeId, { gh: true });
    expect(await hostsOf("github")).toEqual(["laptop"]);
  });
});

describe("skills.update", () => {
  const update = async (params: object = {}) => {
    const client = await connect("client", "c");
    return ask<SkillsUpdate>(client, "skills.update", params);
  };

  it("asks the nodes whose answers are stale, or all of them, and does not wait", async () => {
    const node = await connect("node", "laptop");
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    expect(await update()).toMatchObject({ updatedNodeCount: 0, skippedNodeIds: ["laptop"], errors: [] });
    const forced = await update({ force: true, timeoutMs: 500_000 });
    expect(forced).toMatchObject({ updatedNodeCount: 1, skippedNodeIds: [], errors: [] });
    expect(forced.skills).toMatchObject([{ eligible: true }]);
    expect(probes(node)[1]).toMatchObject({ bins: ["gh"], timeoutMs: 120_000 });
    expect(await update({ force: true }), "it is pending").toMatchObject({ updatedNodeCount: 0 });
  });

  it("names the nodes that it could not ask", async () => {
    const node = await connect("node", "laptop");
    await answer(node, probes(node)[0]!.probeId, { gh: true });
    await world.sockets.close(node);
    expect(await update({ force: true })).toMatchObject({
      updatedNodeCount: 0,
      skippedNodeIds: [],
      errors: ["laptop: it has disconnected"],
    });
  });

  it("is about the skills of one agent", async () => {
    await state.bucket.put("agents/chef/skills/soup/SKILL.md", skill("pot"));
    const chef = await update({ agentId: "chef" });
    expect(chef).toMatchObject({ agentId: "chef", requiredBins: ["gh", "pot"] });
    expect((await update()).requiredBins).toEqual(["gh"]);
  });
});

describe("a skill that is new", () => {
  it("has connected nodes asked at once when a client writes it", async () => {
    const node = await connect("node", "laptop");
    const client = await connect("client", "c");
    await ask(client, "workspace.write", { path: "skills/jq/SKILL.md", content: skill("jq") });
    expect(probes(node).map(({ bins }) => bins)).toEqual([["gh"], ["jq"]]);
    await ask(client, "workspace.write", { path: "skills/jq/notes.md", content: "nothing" });
    expect(probes(node)).toHaveLength(2);
  });

  it("has them asked at once when the configuration enables it", async () => {
    const client = await connect("client", "c");
    await ask(client, "config.set", { path: "skills.entries.github.enabled", value: false });
    const node = await connect("node", "laptop");
    expect(probes(node)).toEqual([]);
    await ask(client, "config.set", { path: "skills.entries.github.enabled", value: true });
    expect(probes(node)).toMatchObject([{ bins: ["gh"] }]);
  });
});
