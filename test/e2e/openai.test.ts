import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => ({ text: [`heard: ${turns.at(-1)?.text}`] }));
  stack = await startStack();
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterAll(async () => {
  await stack?.close();
  await model?.close();
});

it("answers a client of OpenAI's API with the permissions of its role, and keeps the answer for its key", async () => {
  const { token } = await stack.createToken(["client"]);
  const client = new OpenAI({ baseURL: stack.cloud.openai, apiKey: token, maxRetries: 0 });
  const ask = () =>
    client.chat.completions.create(
      { model: "main", messages: [{ role: "user", content: "hello" }], stream: true },
      { headers: { "Idempotency-Key": "one" } },
    );
  const textOf = async () => {
    let text = "";
    for await (const { choices } of await ask()) text += choices[0]?.delta.content ?? "";
    return text;
  };
  expect(await textOf()).toBe("heard: hello");
  expect(await textOf()).toBe("heard: hello");
  expect(model.requests).toHaveLength(1);
  expect(stack.roles.refusals()).toEqual([]);
});
