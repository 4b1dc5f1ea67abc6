import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import type { Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

/** A new account allows ten. Three need fewer processes here. */
const concurrency = 3;

let stack: Stack;
let model: ModelServer;
let client: Peer;
/** The model waits for this before it answers. */
let gate: Promise<void> = Promise.resolve();
let losesEnds = false;

beforeAll(async () => {
  model = await startOpenAiServer(async ({ turns }) => {
    await gate;
    const last = turns.at(-1);
    if (last?.text === "use the laptop")
      return { toolCalls: [{ name: "laptop__Bash", arguments: { command: "ls" } }] };
    return { text: `${last?.role} said: ${last?.text}` };
  });
  stack = await startStack({ concurrency, maxInstances: concurrency, losesDisconnect: () => losesEnds });
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
  client = await stack.client();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

/**
 * Sends a message until it is accepted. A function that has answered still runs for a moment, so the next one may be
 * throttled. All attempts use the same run id, so only one is accepted.
 * @returns the run's id
 */
async function send(sessionKey: string, message: string, runId: string = randomUUID()): Promise<string> {
  const params = { sessionKey, message, runId };
  const isAccepted = async () =>
    (await client.request("chat.send", params, 2000).catch(() => undefined))?.ok === true;
  await until(isAccepted, `${message} is accepted`);
  return runId;
}

it("answers messages that were accepted or repeated while the account was at its concurrency limit", async () => {
  let open = () => {};
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const accepted: string[] = [];
  // There is no room for the last one's agent until its socket function has ended, so Lambda retries it.
  for (let i = 0; i < concurrency; i++) {
    accepted.push(await send(`room-${i}`, `hello ${i}`));
    await until(() => model.requests.length > i, "one more function is an agent that waits");
  }
  const before = client.others.length;
  const message = { sessionKey: "no-room", message: "hello", runId: "throttled" };
  client.send({ type: "req", id: "throttled", method: "chat.send", params: message });
  await until(() => client.others.length > before, "API Gateway has answered");
  expect(client.others.at(-1)).toMatchObject({ message: "Internal server error" });
  expect(stack.cloud.throttled()).toBeGreaterThan(0);
  open();
  for (const runId of accepted) expect(await client.ended(runId)).toMatchObject({ state: "final" });
  expect(await client.ended(await send("no-room", "hello", "throttled"))).toMatchObject({ state: "final" });
});

it("reports to the model that a node is gone although its disconnect event was lost, and uses it once it is back", async () => {
  const tools = { Bash: () => "three files" };
  const node = await stack.node("laptop", tools);
  losesEnds = true;
  await node.close();
  await client.ended(await send("lost-end", "use the laptop"));
  const told = () => model.requests.at(-1)?.turns.at(-1);
  expect(told()).toMatchObject({ role: "tool", text: "Error: Node not connected: laptop" });
  losesEnds = false;
  const back = await stack.node("laptop", tools);
  await client.ended(await send("lost-end", "use the laptop"));
  expect(told()?.text).toContain("three files");
  await back.close();
});
