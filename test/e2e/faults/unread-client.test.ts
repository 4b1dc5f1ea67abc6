import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;

beforeAll(async () => {
  model = await startOpenAiServer();
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "apiKeys.openai-compatible": "key",
  });
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

/** Fills the buffer of a connection whose client has stopped reading. */
async function fill(connectionId: string): Promise<void> {
  const url = `${stack.cloud.ws.replace("ws:", "http:")}/@connections/${encodeURIComponent(connectionId)}`;
  const headers = { authorization: "AWS4-HMAC-SHA256 Credential=owner/1/us-east-1/execute-api/aws4_request" };
  const body = JSON.stringify({ type: "filling", text: "x".repeat(100_000) });
  for (let posts = 0; posts < 1000; posts++)
    if ((await fetch(url, { method: "POST", headers, body })).status === 429) return;
  throw new Error("the buffer did not fill");
}

it("a client that does not read does not block others, and can continue afterwards", async () => {
  const reader = await stack.client("reader");
  const stuck = await stack.client("stuck");
  const [record] = await stack.table.query({ pk: "PEER#client", prefix: "stuck" });
  stuck.socket.pause();
  await fill(String(record?.connectionId));
  const words = Array.from({ length: 6 }, (_, n) => `word${n} `);
  const toolCalls = [{ name: "gsv__ReadFile", arguments: { path: "SOUL.md" } }];
  model.queue({ text: words, delayMs: 150, toolCalls }, { text: "done" });
  const { runId } = await reader.call("chat.send", { sessionKey: "main", message: "hi" });
  expect(await reader.ended(String(runId))).toMatchObject({ state: "final" });
  const said = reader.events.map(({ payload }) => payload as { state: string; text?: string });
  const text = said.flatMap((one) => (one.state === "delta" ? [one.text] : []));
  expect(text.join("")).toBe(`${words.join("")}done`);
  const unread = () => stack.logs.filter((line) => line.event === "broadcast.unread");
  expect(unread()[0]).toMatchObject({ function: "agent", connectionId: record?.connectionId });
  stuck.socket.resume();
  await expect.poll(() => stack.logs.some((line) => line.event === "run.end")).toBe(true);
  model.queue({ text: "again" });
  const next = await stuck.call("chat.send", { sessionKey: "main", message: "and now?" });
  expect(await stuck.ended(String(next.runId))).toMatchObject({ state: "final" });
  // At most the refused piece and the end: nothing between them was sent.
  expect(unread().length).toBeLessThanOrEqual(2);
  expect(stack.logs.filter((line) => line.event === "broadcast.failed")).toEqual([]);
  await reader.close();
  await stuck.close();
});
