import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../support/openai-server.ts";
import type { ModelServer } from "../support/scripted-model.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
beforeAll(async () => {
  model = await startOpenAiServer();
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    agents: {
      list: [
        { id: "main", default: true },
        { id: "work", model: { provider: "openai-compatible", id: "w", baseUrl: model.url } },
      ],
      bindings: [],
      defaultHeartbeat: {
        every: "30m",
        prompt: "check",
        target: "last",
        activeHours: { start: "08:00", end: "23:00" },
      },
    },
  });
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

it("gives a new agent its files once, and its ceremony is what the model sees first", async () => {
  const client = await stack.client();
  const first = await client.call<{ agentId: string; written: string[] }>("agent.init", { agentId: "Work" });
  expect(first.agentId).toBe("work");
  expect(first.written).toContain("BOOTSTRAP.md");
  expect(first.written).toContain("SOUL.md");
  expect((await client.call("agent.init", { agentId: "work" })).written).toEqual([]);
  model.queue({ text: "Who shall I be?" });
  await client.call("chat.send", { sessionKey: "agent:work:main", message: "hello", runId: "ceremony" });
  await client.ended("ceremony");
  expect(model.requests.at(-1)?.system).toContain("## COMMISSIONING CEREMONY (First Run)");
  expect(model.requests.at(-1)?.body).toMatchObject({ model: "w" });

  await client.call("workspace.delete", { path: "BOOTSTRAP.md", agentId: "work" });
  expect((await client.call("agent.init", { agentId: "work" })).written).toEqual([]);
  await client.close();
});

it("keeps two agents apart: each has its own workspace and model", async () => {
  const client = await stack.client();
  await client.call("workspace.write", { path: "SOUL.md", content: "I am the main one." });
  model.queue({ text: "a" }, { text: "b" });
  await client.call("chat.send", { sessionKey: "agent:main:main", message: "hello", runId: "main" });
  await client.ended("main");
  await new Promise((resolve) => setTimeout(resolve, 5100));
  await client.call("chat.send", { sessionKey: "agent:work:main", message: "hello", runId: "work" });
  await client.ended("work");
  const [ofMain, ofWork] = model.requests.slice(-2);
  expect(ofMain?.system).toContain("I am the main one.");
  expect(ofWork?.system).not.toContain("I am the main one.");
  expect(ofMain?.body).toMatchObject({ model: "m" });
  expect(ofWork?.body).toMatchObject({ model: "w" });
  await client.close();
});
