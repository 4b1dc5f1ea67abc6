import { afterAll, beforeAll, expect, it } from "vitest";
import type { Approval } from "../../shared/protocol/approvals.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let client: Peer;
beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "finished" }));
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url, maxTokens: 2000 },
    "budgets.rules": [{ id: "day", scope: "all", per: "day", usd: 0.01, atLimit: "ask" }],
  });
  client = await stack.client();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

async function say(runId: string): Promise<Approval> {
  await client.call("chat.send", { sessionKey: "agent:main:main", message: runId, runId });
  const open = async () =>
    (await client.call<{ approvals: Approval[] }>("approval.list", {})).approvals.find(
      (one) => one.runId === runId,
    );
  await expect
    .poll(open, { timeout: 30_000 })
    .toMatchObject({ kind: "budget", requester: { ruleId: "day" } });
  return (await open())!;
}

it("a run at a budget's limit waits, and goes on or ends as its owner answers", async () => {
  const first = await say("first");
  expect(model.requests).toEqual([]);
  const answer = { id: first.id, hash: first.hash, decision: "allow" };
  await client.call("approval.answer", { ...answer, scope: "once" });
  expect(await client.ended("first")).toMatchObject({ state: "final" });

  const second = await say("second");
  expect(second.id).not.toBe(first.id);
  await client.call("approval.answer", { id: second.id, hash: second.hash, decision: "deny" });
  expect(await client.ended("second")).toMatchObject({
    state: "error",
    error: expect.stringMatching(/^budget: today's limit of \$0\.0100 is reached/),
  });

  const third = await say("third");
  await client.call("approval.answer", { id: third.id, hash: third.hash, decision: "allow", scope: "day" });
  expect(await client.ended("third")).toMatchObject({ state: "final" });
  expect(await client.call("budget.list", {})).toMatchObject({
    rules: [{ id: "day", raised: expect.any(Number) }],
  });
  expect(model.requests).toHaveLength(2);
});
