import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createCallModel } from "../../../functions/agent/model/model.ts";
import type { Repeat } from "../../../functions/agent/model/model-call.ts";
import { describeModel } from "../../../functions/agent/model/resolve-model.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { startBedrockServer } from "../../support/models/wires/bedrock-server.ts";
import { newPayment } from "../../support/payment.ts";
import { user } from "../compaction/transcripts.ts";

let server: ModelServer;
let replies: Reply[] = [];
const saved = { ...process.env };
beforeAll(async () => {
  Object.assign(process.env, {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_BEDROCK_FORCE_HTTP1: "1",
  });
  server = await startBedrockServer(() => replies.shift() ?? { text: "the whole answer" });
});
beforeEach(() => {
  replies = [];
  server.requests.length = 0;
});
afterAll(async () => {
  process.env = saved;
  await server?.close();
});

async function call(more: Partial<ModelConfiguration> = {}, maxTokens?: number, payment = newPayment()) {
  const repeats: Repeat[] = [];
  const configuration = { load: async () => defaults };
  const callModel = createCallModel(
    { configuration, secrets: { get: async () => undefined } },
    createMediaCache(createMemoryBucket()),
  );
  const outcome = await callModel({
    payment,
    model: { ...defaults.model, baseUrl: server.url, ...more },
    ...(maxTokens === undefined ? {} : { maxTokens }),
    systemPrompt: "",
    messages: [user("hello", 9)],
    tools: [],
    sessionId: "s",
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onText: () => {},
    onRepeat: (repeat) => repeats.push(repeat),
  });
  const asked = server.requests.map(
    ({ body }) => (body as { inferenceConfig?: { maxTokens?: number } }).inferenceConfig?.maxTokens ?? 0,
  );
  return { outcome, asked, repeats };
}

it("a call reserves 16,384 tokens of the account's quota for its answer", async () => {
  const { asked } = await call();
  expect(asked).toEqual([16_384]);
});

it("an answer that is cut off there is requested again with the model's own limit, and clients see the repeat", async () => {
  replies = [{ text: "the whole", stopReason: "length", usage: { output: 16_384 } }];
  const { outcome, asked, repeats } = await call();
  expect(asked[0]).toBe(16_384);
  expect(asked[1]).toBeGreaterThan(16_384);
  expect(asked).toHaveLength(2);
  expect(outcome.status === "answered" && textOf(outcome.message)).toBe("the whole answer");
  expect(repeats).toEqual([{ reason: "the answer is longer than 16384 tokens", waitMs: 0 }]);
});

it.each<[string, Partial<ModelConfiguration>, number | undefined]>([
  ["the configuration", { maxTokens: 5000 }, undefined],
  ["the session", {}, 5000],
])("a limit that %s chose is kept, even if an answer is cut off there", async (_who, more, maxTokens) => {
  replies = [{ text: "the whole", stopReason: "length" }];
  const { outcome, asked } = await call(more, maxTokens);
  expect(asked).toEqual([5000]);
  expect(outcome.status === "answered" && textOf(outcome.message)).toBe("the whole");
});

it("an answer that a budget's limit has cut is not paid for a second time", async () => {
  const payment = newPayment({ rules: [{ id: "day", scope: "all", usd: 0.02, atLimit: "refuse" }] });
  replies = [{ text: "the whole", stopReason: "length", usage: { output: 2000 } }];
  const { outcome, asked } = await call({}, undefined, payment);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toBeLessThan(16_384);
  expect(outcome.status === "answered" && textOf(outcome.message)).toBe("the whole");
});

it("a conversation is compacted at 200,000 tokens unless the configuration sets a larger window", async () => {
  expect(await describeModel(defaults.model)).toMatchObject({ contextWindow: 200_000 });
  expect(await describeModel({ ...defaults.model, contextWindow: 1_000_000 })).toMatchObject({
    contextWindow: 1_000_000,
  });
  expect((await describeModel({ provider: "anthropic", id: "claude-sonnet-4-6" })).contextWindow).toBe(
    1_000_000,
  );
});
