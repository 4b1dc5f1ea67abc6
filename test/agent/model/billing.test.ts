import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createCallModel } from "../../../functions/agent/model/model.ts";
import { serveLoopback } from "../../../local/http/loopback.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import { readPaid } from "../../../shared/spend/paid.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { startAnthropicServer } from "../../support/models/anthropic-server.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { startBedrockServer } from "../../support/models/wires/bedrock-server.ts";
import { newPayment } from "../../support/payment.ts";
import { user } from "../compaction/transcripts.ts";

const names = ["openai-compatible", "anthropic", "amazon-bedrock"] as const;
type Name = (typeof names)[number];
const servers = {} as Record<Name, ModelServer>;
let replies: Reply[] = [];
const saved = { ...process.env };
const keys = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
const next = () => replies.shift() ?? { text: "fine" };
beforeAll(async () => {
  Object.assign(process.env, keys, { AWS_REGION: "us-east-1", AWS_BEDROCK_FORCE_HTTP1: "1" });
  servers["openai-compatible"] = await startOpenAiServer(next);
  servers.anthropic = await startAnthropicServer(next);
  servers["amazon-bedrock"] = await startBedrockServer(next);
});
beforeEach(() => {
  replies = [];
});
afterAll(async () => {
  process.env = saved;
  for (const server of Object.values(servers)) await server.close();
});

/** μ$ a token: of input, and of the answer, which has at most 4,000. */
const price = { input: 10, output: 100 };
const most = 4000 * price.output;

/** Calls a model. @returns what was charged, μ$ */
async function charged(name: Name, { baseUrl = servers[name].url, stopAfter = "" } = {}): Promise<number> {
  const model = { provider: name, id: "m", baseUrl };
  const payment = newPayment({ prices: { [`${name}/m`]: price } });
  const secrets = { get: async () => "key" };
  const callModel = createCallModel(
    { configuration: { load: async () => defaults }, secrets },
    createMediaCache(createMemoryBucket()),
    async () => {},
  );
  const stop = new AbortController();
  let text = "";
  await callModel({
    ...{ payment, model, maxTokens: 4000, systemPrompt: "", messages: [user("hello", 9)], tools: [] },
    ...{ sessionId: "s", signal: stop.signal, timeoutMs: 20_000 },
    onText(more) {
      text += more;
      if (stopAfter !== "" && text.includes(stopAfter)) stop.abort();
    },
  });
  const { spent, hold } = readPaid(payment.account.unsaved ?? "");
  expect(hold).toBeUndefined();
  return spent.all ?? 0;
}

/** More often than a call is repeated, here and by AWS's client. */
const failing = (status: number): Reply[] =>
  Array.from({ length: 12 }, () => ({ error: { status, message: "no" } }));

describe.each(names)("%s", (name) => {
  it.each([400, 403, 429, 500, 503])("a request that is refused with %i costs nothing", async (status) => {
    replies = failing(status);
    expect(await charged(name)).toBe(0);
  });

  it("a request whose gateway did not wait for the answer costs all that was reserved", async () => {
    replies = failing(504);
    expect(await charged(name)).toBeGreaterThanOrEqual(most);
  });

  it("a refused connection costs nothing", async () => {
    const closed = await serveLoopback(() => {});
    await closed.close();
    expect(await charged(name, { baseUrl: closed.origin })).toBe(0);
  });

  it("a stopped answer costs its input and what was streamed", async () => {
    replies = [{ text: ["words ", "and more words "], hang: true }];
    const cost = await charged(name, { stopAfter: "more" });
    expect(cost).toBeGreaterThan(5 * price.output);
    expect(cost).toBeLessThan(most / 10);
  });

  it("a broken answer costs what was streamed, and its repeat what is reported", async () => {
    replies = [{ text: "Once upon a time", cutAfterChunks: 2 }];
    const cost = await charged(name);
    expect(cost).toBeGreaterThan(price.output);
    expect(cost).toBeLessThan(most / 10);
  });
});

it("a call without credentials costs nothing", async () => {
  for (const key of Object.keys(keys)) delete process.env[key];
  Object.assign(process.env, { AWS_EC2_METADATA_DISABLED: "true", HOME: "/nonexistent" });
  expect(await charged("amazon-bedrock")).toBe(0);
  Object.assign(process.env, keys);
});
