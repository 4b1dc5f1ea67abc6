import { afterAll, beforeAll, expect, it } from "vitest";
import type { SkillsResult } from "../../shared/protocol/skill-schemas.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { type Platform, startTelegram } from "../support/platforms/platforms.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let reply: (request: ModelRequest) => Reply | Promise<Reply>;
let telegram: { home: Platform; work: Platform };
beforeAll(async () => {
  model = await startOpenAiServer((request) => reply(request));
  telegram = { home: await startTelegram(), work: await startTelegram() };
  stack = await startStack();
  const ownModel = { provider: "openai-compatible", id: "w", baseUrl: model.url };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    // Each test has its own agents: a function caches what it read of a workspace for up to 30 seconds.
    agents: {
      list: [
        { id: "main", default: true },
        { id: "apprentice", model: ownModel },
        { id: "home" },
        { id: "work", model: ownModel },
        { id: "clerk" },
      ],
      bindings: [
        { agentId: "work", match: { channel: "telegram", accountId: "office" } },
        { agentId: "home", match: { channel: "telegram" } },
      ],
    },
    "channels.telegram": {
      dmPolicy: "open",
      owners: ["5001002003"],
      accounts: { private: telegram.home.account, office: telegram.work.account },
    },
  });
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
  await telegram?.home.close();
  await telegram?.work.close();
});

it("gives a new agent its files once, and shows the model the first-run ceremony first", async () => {
  const client = await stack.client();
  const first = await client.call<{ agentId: string; written: string[] }>("agent.init", {
    agentId: "Apprentice",
  });
  expect(first.agentId).toBe("apprentice");
  expect(first.written).toContain("BOOTSTRAP.md");
  expect(first.written).toContain("SOUL.md");
  expect((await client.call("agent.init", { agentId: "apprentice" })).written).toEqual([]);
  reply = () => ({ text: "Who shall I be?" });
  await client.call("chat.send", {
    sessionKey: "agent:apprentice:main",
    message: "hello",
    runId: "ceremony",
  });
  await client.ended("ceremony");
  expect(model.requests.at(-1)?.system).toContain("## COMMISSIONING CEREMONY (First Run)");
  expect(model.requests.at(-1)?.body).toMatchObject({ model: "w" });

  await client.call("workspace.delete", { path: "BOOTSTRAP.md", agentId: "apprentice" });
  expect((await client.call("agent.init", { agentId: "apprentice" })).written).toEqual([]);
  await client.close();
});

it("runs two agents chosen by bindings in parallel, each with its own workspace and model", async () => {
  const client = await stack.client();
  const agents = [
    { agentId: "home", modelId: "m", soul: "I keep house.", account: "private", platform: telegram.home },
    { agentId: "work", modelId: "w", soul: "I mind the office.", account: "office", platform: telegram.work },
  ];
  for (const { agentId, soul } of agents)
    await client.call("workspace.write", { path: "SOUL.md", content: soul, agentId });
  const modelOf = ({ body }: ModelRequest) => (body as { model: string }).model;
  const seen: ModelRequest[] = [];
  reply = async (request) => {
    seen.push(request);
    if (request.turns.at(-1)?.role === "tool") return { text: `${modelOf(request)} is done` };
    // Neither gets an answer before both have asked.
    await until(() => new Set(seen.map(modelOf)).size === 2, "both agents call their models");
    const path = "who.md";
    return { toolCalls: [{ name: "gsv__WriteFile", arguments: { path, content: modelOf(request) } }] };
  };
  for (const { platform, account } of agents)
    await platform.deliver(stack.cloud.webhook, platform.direct("who are you?"), account);
  for (const { platform, modelId } of agents)
    await until(() => platform.answers().includes(`${modelId} is done`), "both are answered");
  for (const { agentId, modelId, soul, platform } of agents) {
    const own = seen.filter((request) => modelOf(request) === modelId);
    const others = agents.find((agent) => agent.agentId !== agentId)!;
    expect(own).toHaveLength(2);
    for (const { system } of own) {
      expect(system).toContain(soul);
      expect(system).not.toContain(others.soul);
    }
    expect((await client.call("workspace.read", { path: "who.md", agentId })).content).toBe(modelId);
    expect(platform.answers()).not.toContain(`${others.modelId} is done`);
    const { messages } = await client.call<{ messages: unknown[] }>("session.preview", {
      sessionKey: `agent:${agentId}:main`,
    });
    expect(JSON.stringify(messages)).toContain("who are you?");
  }
  await client.close();
});

it("probes a machine twice for the programs of both agents' skills, and offers each agent those it has", async () => {
  const client = await stack.client();
  const skill = (bin: string) =>
    `---\nmetadata: {gsv: {requires: {bins: [${bin}]}}}\n---\nHow to use ${bin}.`;
  const write = (agentId: string, bin: string) =>
    client.call("workspace.write", { path: `skills/with-${bin}/SKILL.md`, content: skill(bin), agentId });
  await write("main", "kettle");
  await write("clerk", "stapler");
  const node = await stack.node("laptop", { Bash: () => "" });
  const probe = (await node.event((_payload, event) => event === "node.probe", "a probe")) as {
    probeId: string;
  };
  expect(probe).toMatchObject({ kind: "bins", bins: ["kettle", "stapler"] });
  await node.call("node.probe.result", {
    probeId: probe.probeId,
    ok: true,
    bins: { kettle: true, lie: true },
  });
  const { skills } = await client.call<SkillsResult>("skills.status");
  expect(skills).toMatchObject([{ name: "with-kettle", eligible: true, eligibleHosts: ["laptop"] }]);

  const asked = await client.call("skills.update", { agentId: "clerk", force: true, timeoutMs: 1000 });
  expect(asked).toMatchObject({ requiredBins: ["stapler"], updatedNodeCount: 1, errors: [] });
  const probes = () => node.events.filter(({ event }) => event === "node.probe");
  await until(() => probes().length === 3, "the timer sends the second probe again");
  expect(probes()[2]?.payload).toEqual(probes()[1]?.payload);

  // A process may reuse its list of skills for half a minute. A new one lists them again.
  stack.host.renew("agent");
  reply = () => ({ text: "Tea is ready." });
  await client.call("chat.send", { sessionKey: "agent:main:main", message: "tea, please", runId: "tea" });
  await client.ended("tea");
  expect(model.requests.at(-1)?.system).toContain("<read_path>skills/with-kettle/SKILL.md</read_path>");
  expect(model.requests.at(-1)?.system).not.toContain("with-stapler");
  await node.close();
  await client.close();
});
