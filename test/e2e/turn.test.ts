import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

const providers = [
  { name: "anthropic", id: "claude-opus-4-8", start: () => startAnthropicServer() },
  { name: "openai", id: "gpt-5.2", start: () => startOpenAiServer() },
  { name: "openai-compatible", id: "some-model", start: () => startOpenAiServer() },
];

describe.each(providers)("a turn with $name, over the bundles", ({ name, id, start }) => {
  let stack: Stack;
  let model: ModelServer;
  let client: Peer;

  beforeAll(async () => {
    stack = await startStack();
    model = await start();
    await stack.configure({
      model: { provider: name, id, baseUrl: model.url },
      ...(name === "openai-compatible" ? {} : { [`apiKeys.${name}`]: "sk-test" }),
    });
  });
  afterEach(async () => {
    await client?.close();
    expect(stack.roles.refusals()).toEqual([]);
  });
  afterAll(async () => {
    await stack?.close();
    await model?.close();
  });

  it("answers with streamed text", async () => {
    client = await stack.client();
    model.queue({ text: ["Hello", " from", " the model"], delayMs: 120 });
    const { status, runId } = await client.call("chat.send", { sessionKey: "main", message: "hi" });
    expect(status).toBe("started");
    const final = await client.ended(String(runId));
    expect(final).toMatchObject({ state: "final", sessionKey: "agent:main:main" });
    expect(JSON.stringify(final.message)).toContain("Hello from the model");
    const deltas = client.events.map((one) => one.payload as Record<string, unknown>);
    const text = deltas.filter((one) => one.state === "delta").map((one) => one.text);
    expect(text.join("")).toBe("Hello from the model");
    expect(model.requests.at(-1)?.tools).toContain("gsv__ReadFile");
  });

  it("calls two tools on two nodes at the same time", async () => {
    client = await stack.client();
    const running = { now: 0, most: 0 };
    const slow = (output: string) => async () => {
      running.most = Math.max(running.most, ++running.now);
      await until(() => running.most === 2, "both calls run");
      running.now--;
      return { output };
    };
    const laptop = await stack.node("laptop", { Bash: slow("on the laptop") });
    const server = await stack.node("server", { Bash: slow("on the server") });
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
    const { runId } = await client.call("chat.send", { sessionKey: "two-nodes", message: "look around" });
    const final = await client.ended(String(runId));
    expect(JSON.stringify(final.message)).toContain("Both answered.");
    expect(laptop.calls).toMatchObject([{ tool: "Bash", args: { command: "hostname" } }]);
    expect(server.calls).toMatchObject([{ tool: "Bash", args: { command: "uptime" } }]);
    const results = model.requests.at(-1)?.turns.filter((turn) => turn.role === "tool");
    expect(results?.map((turn) => turn.text)).toEqual([
      '{"output":"on the laptop"}',
      '{"output":"on the server"}',
    ]);
    const partial = client.events.find((one) => (one.payload as { state?: string }).state === "partial");
    expect(JSON.stringify(partial?.payload)).toContain("Let me look.");
    await laptop.close();
    await server.close();
  });

  it("mixes a tool of the gateway with one of a node", async () => {
    client = await stack.client();
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
    const { runId } = await client.call("chat.send", { sessionKey: "mixed", message: "do both" });
    await client.ended(String(runId));
    const results = model.requests
      .at(-1)
      ?.turns.filter((turn) => turn.role === "tool")
      .map((turn) => turn.text);
    expect(results?.[0]).toContain('"ok":true');
    expect(results?.[1]).toContain("from the node");
    expect(results?.[2]).toContain("from the gateway");
    const file = await client.call("workspace.read", { path: "notes/a.md" });
    expect(file.content).toBe("from the gateway");
    const { messages } = await client.call<{ messages: { role: string }[] }>("session.preview", {
      sessionKey: "mixed",
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
