import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

const lastUser = (request: ModelRequest) =>
  request.turns.findLast((turn) => turn.role === "user")?.text ?? "";

let stack: Stack;
let model: ModelServer;
/** The model waits for this before it answers. */
let gate: Promise<unknown> = Promise.resolve();
beforeAll(async () => {
  model = await startOpenAiServer(async (request) => {
    await gate;
    return { text: `answer to ${lastUser(request)}`, delayMs: 30 };
  });
  stack = await startStack({ maxInstances: 3 });
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

/** Waits until the functions see the configuration, which they cache for up to five seconds. */
async function takesEffect(client: Peer, modelId: string): Promise<void> {
  const configured = async () => (await client.call("config.get", { path: "model.id" })).value;
  await until(async () => (await configured()) === modelId, "the model is configured");
  await new Promise((resolve) => setTimeout(resolve, 5_100));
}

it("answers five messages sent at once one by one, in the order of acceptance", async () => {
  const client = await stack.client();
  const sent = ["one", "two", "three", "four", "five"];
  const replies = [];
  let open = () => {};
  gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  // The gateway receives five concurrent frames in any order. The order that counts is that of acceptance.
  for (const message of sent) {
    replies.push(client.call("chat.send", { sessionKey: "queue", message, runId: message }));
  }
  const started = await Promise.all(replies);
  open();
  expect(started.filter((reply) => reply.queued).length).toBeGreaterThanOrEqual(4);
  for (const message of sent) await client.ended(message);
  const { messages } = await client.call<{ messages: { role: string; content: unknown }[] }>(
    "session.preview",
    {
      sessionKey: "queue",
    },
  );
  expect(messages.map((message) => message.role)).toEqual(Array(5).fill(["user", "assistant"]).flat());
  const asked = messages
    .filter((message) => message.role === "user")
    .map((message) => String(message.content));
  expect([...asked].sort()).toEqual([...sent].sort());
  const answers = messages
    .filter((message) => message.role === "assistant")
    .map((message) => JSON.stringify(message.content));
  for (const [i, question] of asked.entries()) expect(answers[i]).toContain(`answer to ${question}`);
  const ends = client.events
    .map((event) => event.payload as { runId: string; state: string })
    .filter((payload) => payload.state === "final");
  expect(ends.map((payload) => payload.runId)).toEqual(asked);
  await client.close();
});

it("accepts a message with a repeated runId once", async () => {
  const client = await stack.client();
  for (let i = 0; i < 3; i++)
    await client.call("chat.send", { sessionKey: "dup", message: "once", runId: "same" });
  await client.ended("same");
  await client.call("chat.send", { sessionKey: "dup", message: "once", runId: "same" });
  const stats = await client.call("session.stats", { sessionKey: "dup" });
  expect(stats.messageCount).toBe(2);
  await client.close();
});

it("refuses messages with 429 when an inbox is full, and answers all that it accepted", async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const seen: string[] = [];
  const slow = await startOpenAiServer(async (request) => {
    await gate;
    seen.push(lastUser(request).slice(0, 2));
    return { text: "done" };
  });
  await stack.configure({ model: { provider: "openai-compatible", id: "slow", baseUrl: slow.url } });
  const client = await stack.client();
  await takesEffect(client, "slow");
  const send = (n: number) => {
    const runId = `full-${n}`;
    const message = `${String(n).padStart(2, "0")} ${"x".repeat(30_000)}`;
    return client.request("chat.send", { sessionKey: "full", message, runId });
  };
  const taken: number[] = [];
  let refusal: Awaited<ReturnType<typeof send>> | undefined;
  for (let n = 0; !refusal; n++) {
    const answer = await send(n);
    if (answer.ok) taken.push(n);
    else refusal = answer;
  }
  expect(refusal.error).toMatchObject({ code: 429, retryable: true });
  expect(taken.length).toBeGreaterThanOrEqual(4);
  open();
  for (const n of taken) expect(await client.ended(`full-${n}`)).toMatchObject({ state: "final" });
  expect(seen).toEqual(taken.map((n) => String(n).padStart(2, "0")));
  // A retry of the refused message, as the error suggests, is accepted now.
  expect(await send(taken.length)).toMatchObject({ ok: true });
  expect(await client.ended(`full-${taken.length}`)).toMatchObject({ state: "final" });
  await slow.close();
  await client.close();
});

it("runs two sessions in parallel", async () => {
  const waiting: (() => void)[] = [];
  const gate = await startOpenAiServer(async (request) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 2) for (const go of waiting) go();
    });
    return { text: `answer to ${lastUser(request)}` };
  });
  await stack.configure({ model: { provider: "openai-compatible", id: "gate", baseUrl: gate.url } });
  const client = await stack.client();
  await takesEffect(client, "gate");
  await client.call("chat.send", { sessionKey: "left", message: "l", runId: "left" });
  await client.call("chat.send", { sessionKey: "right", message: "r", runId: "right" });
  await Promise.all([client.ended("left"), client.ended("right")]);
  expect(gate.peak()).toBe(2);
  await gate.close();
  await client.close();
});
