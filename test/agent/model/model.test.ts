import { afterAll, beforeAll, expect, it } from "vitest";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createCallModel } from "../../../functions/agent/model/model.ts";
import { startOfflineModel } from "../../../local/offline-model/offline-model-server.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { type RefusingBedrock, startRefusingBedrock } from "../../support/models/refusing-bedrock.ts";
import { newPayment } from "../../support/payment.ts";
import { user } from "../compaction/transcripts.ts";

let bedrock: RefusingBedrock;
let refusal = { type: "", message: "" };
let authorization: string | undefined;
beforeAll(async () => {
  bedrock = await startRefusingBedrock((request) => {
    authorization = request.headers.authorization;
    return { status: 403, ...refusal };
  });
});
afterAll(() => bedrock?.close());

/** Calls a model of a gateway whose parameter store holds a key of every provider. */
async function call(model: ModelConfiguration, apiKeys: Record<string, string> = {}) {
  const read: string[] = [];
  const get = async (path: string) => {
    read.push(path);
    return "sk-kept";
  };
  const configuration = { load: async () => ({ ...defaults, apiKeys }) };
  const callModel = createCallModel(
    { configuration, secrets: { get } },
    createMediaCache(createMemoryBucket()),
  );
  const outcome = await callModel({
    payment: newPayment(),
    model,
    systemPrompt: "",
    messages: [user("hello", 9)],
    tools: [],
    sessionId: "s",
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onText: () => {},
  });
  return { outcome, read };
}

it.each([
  [
    "AccessDeniedException",
    "Model access is denied due to IAM user or service role is not authorized to perform the required AWS Marketplace actions (aws-marketplace:ViewSubscriptions, aws-marketplace:Subscribe) to enable access to this model.",
  ],
  [
    "ResourceNotFoundException",
    "Model use case details have not been submitted for this account. Fill out the Anthropic use case details form before using the model.",
  ],
  ["ValidationException", "You have not filled out the required use-case form for this model."],
])("an account without access to the model sees how to get it: %s", async (type, message) => {
  refusal = { type, message };
  const { outcome } = await call({ ...defaults.model, baseUrl: bedrock.origin });
  expect(outcome).toMatchObject({ status: "failed", overflow: false });
  expect(outcome).toMatchObject({ error: expect.stringContaining(message) });
  expect(outcome).toMatchObject({
    error: expect.stringMatching(/administrator.*playground of the Amazon Bedrock console/),
  });
});

const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

it("a server's reported cost is recorded if the catalogue has no price: the offline model is free", async () => {
  const offline = await startOfflineModel();
  const { outcome } = await call({ provider: "openai-compatible", id: "offline", baseUrl: offline.url });
  await offline.close();
  expect(outcome).toMatchObject({ status: "answered", message: { usage: { cost: free } } });
  expect(outcome).not.toHaveProperty("message.usage.unpriced");
});

it("another refusal is shown unchanged", async () => {
  refusal = { type: "AccessDeniedException", message: "not authorized to perform bedrock:InvokeModel" };
  const { outcome } = await call({ ...defaults.model, baseUrl: bedrock.origin });
  expect(outcome).toMatchObject({ error: expect.stringMatching(/bedrock:InvokeModel$/) });
});

it("a key that the configuration does not name is not used, even if the parameter store has it", async () => {
  const { outcome, read } = await call({ provider: "anthropic", id: "claude-sonnet-5" });
  expect(outcome).toEqual({
    status: "failed",
    error: "no key for anthropic: gsv config set apiKeys.anthropic -",
    overflow: false,
  });
  expect(read).toEqual([]);
});

it("a key that the configuration names is used", async () => {
  const compatible = { provider: "openai-compatible", id: "m", baseUrl: bedrock.origin };
  const { read } = await call(compatible, { "openai-compatible": "***" });
  expect(read).toEqual(["apiKeys.openai-compatible"]);
  expect(authorization).toBe("Bearer sk-kept");
});
