import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type Stack, startStack } from "../stack.ts";
import { type SilentProxy, startSilentProxy } from "./silent-proxy.ts";

let stack: Stack;
let model: ModelServer;
let table: SilentProxy;

beforeAll(async () => {
  model = await startOpenAiServer(() => {
    // The agent's next requests renew its lease or commit this answer.
    table.toSwallow = 2;
    return { text: "in spite of silence" };
  });
  table = await startSilentProxy();
  stack = await startStack({
    environment(env) {
      table.target = String(env.AWS_ENDPOINT_URL_DYNAMODB);
      return { ...env, AWS_ENDPOINT_URL_DYNAMODB: table.url };
    },
  });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "apiKeys.openai-compatible": "key",
  });
});
afterAll(async () => {
  await stack?.close();
  await table?.close();
  await model?.close();
});

it("an agent that gets no answer from the table retries, and the turn is answered once", async () => {
  const client = await stack.client();
  const { runId } = await client.call("chat.send", { sessionKey: "main", message: "hi" });
  expect(await client.ended(String(runId))).toMatchObject({ state: "final" });
  expect(table.swallowed).toBe(2);
  expect(model.requests).toHaveLength(1);
  expect(stack.logs.filter((line) => line.event === "agent.failed")).toEqual([]);
  await client.close();
});
