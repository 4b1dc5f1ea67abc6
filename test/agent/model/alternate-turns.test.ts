import { afterAll, beforeAll, expect, it } from "vitest";
import { alternateTurns } from "../../../functions/agent/model/ask-model.ts";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createCallModel } from "../../../functions/agent/model/model.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { type RefusingBedrock, startRefusingBedrock } from "../../support/models/refusing-bedrock.ts";
import { newPayment } from "../../support/payment.ts";
import { assistant, result, user } from "../compaction/transcripts.ts";

let bedrock: RefusingBedrock;
let sent: { role: string; content: object[] }[] = [];
beforeAll(async () => {
  bedrock = await startRefusingBedrock((_request, body) => {
    sent = JSON.parse(body).messages;
    return { status: 400, type: "ValidationException", message: "seen" };
  });
});
afterAll(() => bedrock?.close());

it("a conversation reaches Bedrock complete and with alternating roles", async () => {
  const keys = { configuration: { load: async () => defaults }, secrets: { get: async () => undefined } };
  const callModel = createCallModel(keys, createMediaCache(createMemoryBucket()));
  const outcome = await callModel({
    payment: newPayment(),
    model: { provider: "amazon-bedrock", id: "global.anthropic.claude-sonnet-4-6", baseUrl: bedrock.origin },
    systemPrompt: "",
    messages: [
      user("summary", 9),
      user("first", 9),
      assistant("", "a"),
      result("a", "done"),
      user("second", 9),
    ],
    tools: [],
    sessionId: "s",
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onText: () => {},
  });
  expect(outcome).toMatchObject({ status: "failed", overflow: false });
  expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(sent[0]!.content).toMatchObject([{ text: "summary" }, { text: "first" }]);
  expect(JSON.stringify(sent[2]!.content)).toMatch(/toolResult.*done.*second/);
});

it.each([
  undefined,
  {},
  { messages: "none" },
  {
    messages: [
      { role: "user", content: "text" },
      { role: "user", content: "text" },
    ],
  },
])("another kind of payload is unchanged: %j", (payload) => {
  expect(alternateTurns(payload)).toBe(payload);
});
