import { afterAll, beforeAll, expect, it } from "vitest";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { openClient } from "../support/peer.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { type Stack, startStack } from "./stack.ts";

let model: ModelServer;
let stack: Stack | undefined;

beforeAll(async () => {
  model = await startAnthropicServer();
});
afterAll(async () => {
  await stack?.close();
  await model.close();
});

it("a conversation continues in a new stack on the table, bucket and secrets that a destroy kept", async () => {
  const dir = newFolder();
  stack = await startStack({ dir });
  await stack.configure({
    model: { provider: "anthropic", id: "claude-opus-4-8", baseUrl: model.url },
    "apiKeys.anthropic": "sk-kept",
  });
  const { token } = await stack.createToken(["client"]);
  const ask = async (ws: string, message: string, answer: string) => {
    model.queue({ text: [answer] });
    const client = await openClient(ws, token);
    const { runId } = await client.call("chat.send", { sessionKey: "agent:main:main", message });
    const final = await client.ended(String(runId));
    await client.close();
    expect(JSON.stringify(final.message)).toContain(answer);
  };
  await ask(stack.cloud.ws, "My cat is called Plato.", "A good name.");
  const former = stack.cloud.ws;
  await stack.close();

  stack = await startStack({ dir, port: 0 });
  expect(stack.cloud.ws).not.toBe(former);
  await ask(stack.cloud.ws, "What is my cat called?", "Plato.");
  const asked = JSON.stringify(model.requests.at(-1));
  expect(asked).toContain("My cat is called Plato.");
  expect(asked).toContain("A good name.");
  expect(asked).toContain("What is my cat called?");
  expect(stack.roles.refusals()).toEqual([]);
});
