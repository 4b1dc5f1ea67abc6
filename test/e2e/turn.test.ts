import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

/** Each has an agent named after the provider. */
const providers = [
  { name: "anthropic", id: "claude-opus-4-8", server: "anthropic" },
  { name: "openai", id: "gpt-5.2", server: "openai" },
  { name: "openai-compatible", id: "some-model", server: "openai" },
] as const;

let stack: Stack;
let models: Record<"anthropic" | "openai", ModelServer>;

beforeAll(async () => {
  models = { anthropic: await startAnthropicServer(), openai: await startOpenAiServer() };
  stack = await startStack();
  await stack.configure({
    "agents.list": providers.map(({ name, id, server }) => ({
      id: name,
      model: { provider: name, id, baseUrl: models[server].url },
    })),
    "apiKeys.anthropic": "sk-test",
    "apiKeys.openai": "sk-test",
  });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  for (const server of Object.values(models ?? {})) await server.close();
});

describe.each(providers)("a turn with $name, with the deployed bundles", ({ name: agentId, server }) => {
  let model: ModelServer;
  let client: Peer;

  beforeAll(async () => {
    model = models[server];
    client = await stack.client();
  });
  afterAll(() => client?.close());
  const keyOf = (session: string) => `agent:${agentId}:${session}`;

  it("answers with streamed text", async () => {
    model.queue({ text: ["Hello", " from", " the model"], delayMs: 120 });
    const { status, runId } = await client.call("chat.send", { sessionKey: keyOf("main"), message: "hi" });
    expect(status).toBe("started");
    const final = await client.ended(String(runId));
    expect(final).toMatchObject({ state: "final", sessionKey: keyOf("main") });
    expect(JSON.stringify(final.message)).toContain("Hello from the model");
    const deltas = client.events.map((one) => one.payload as Record<string, unknown>);
    const text = deltas.filter((one) => one.state === "delta").map((one) => one.text);
    expect(text.join("")).toBe("Hello from the model");
    expect(model.requests.at(-1)?.tools).toContain("gsv__ReadFile");
  });

  it("calls two tools on two nodes in parallel", async () => {
    const running = { now: 0, most: 0 };
    const slow = (output: string) => async () => {
      running.most = Math.max(running.most, ++running.now);
      await until(() => running.most === 2, "both calls run");
      running.now--;
      return { output };
    };
    const laptop = await stack.node("laptop", { Bash: slow("on the laptop") });
    const rack = await stack.node("server", { Bash: slow("on the server") });
    model.queue(
      {
        text: "Let me look.",
        toolCalls: [
          { name: "laptop__Bash", arguments: { command: "hostname" } },
          { name: "server__Bash", arguments: { command: "uptime" } },
        ],
      },
      { text: "Both answered." },
    );
    const { runId } = await client.call("chat.send", {
      sessionKey: keyOf("two-nodes"),
      message: "look around",
    });
    const final = await client.ended(String(runId));
    expect(JSON.stringify(final.message)).toContain("Both answered.");
    expect(laptop.calls).toMatchObject([{ tool: "Bash", args: { command: "hostname" } }]);
    expect(rack.calls).toMatchObject([{ tool: "Bash", args: { command: "uptime" } }]);
    const results = model.requests.at(-1)?.turns.filter((turn) => turn.role === "tool");
    expect(results?.map((turn) => turn.text)).toEqual([
      '{"output":"on the laptop"}',
      '{"output":"on the server"}',
    ]);
    const partial = client.events.find((one) => (one.payload as { state?: string }).state === "partial");
    expect(JSON.stringify(partial?.payload)).toContain("Let me look.");
    await laptop.close();
    await rack.close();
  });

  it("combines a tool of the gateway with one of a node", async () => {
    const laptop = await stack.node("laptop", {
      Read: (args) => ({ path: args.path, content: "0\tfrom the node" }),
    });
    model.queue(
      {
        toolCalls: [
          { name: "gsv__WriteFile", arguments: { path: "notes/a.md", content: "from the gateway" } },
          { name: "laptop__Read", arguments: { path: "a.txt" } },
          { name: "gsv__ReadFile", arguments: { path: "notes/a.md" } },
        ],
      },
      { text: "done" },
    );
    const { runId } = await client.call("chat.send", { sessionKey: keyOf("mixed"), message: "do both" });
    await client.ended(String(runId));
    const results = model.requests
      .at(-1)
      ?.turns.filter((turn) => turn.role === "tool")
      .map((turn) => turn.text);
    expect(results?.[0]).toContain('"ok":true');
    expect(results?.[1]).toContain("from the node");
    expect(results?.[2]).toContain("from the gateway");
    const file = await client.call("workspace.read", { path: "notes/a.md", agentId });
    expect(file.content).toBe("from the gateway");
    const { messages } = await client.call<{ messages: { role: string }[] }>("session.preview", {
      sessionKey: keyOf("mixed"),
    });
    expect(messages.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "toolResult",
      "assistant",
    ]);
    await laptop.close();
  });
});
