import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { openClient, type Peer } from "../../support/peer.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import {
  pressUpdate,
  type TelegramUpdate,
  textUpdate,
} from "../../support/platforms/telegram/telegram-updates.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

const webhookSecret = "the-secret-of-the-webhook";
let stack: Stack;
let model: ModelServer;
let telegram: TelegramServer;
let client: Peer;

beforeAll(async () => {
  const write = { name: "gsv__WriteFile", arguments: { path: "asked.md", content: "whole" } };
  model = await startOpenAiServer(({ turns }) =>
    turns.at(-1)?.role === "tool" ? { text: turns.at(-1)?.text } : { toolCalls: [write] },
  );
  telegram = await startTelegramServer({ local: true });
  stack = await startStack();
  const account = { botToken: telegram.token, webhookSecret, apiBaseUrl: telegram.url };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    toolApproval: { mode: "ask" },
    "channels.telegram": { dmPolicy: "allowlist", owners: ["5001002003"], accounts: { default: account } },
  });
  client = await stack.client("laptop");
});
afterAll(async () => {
  await client?.close();
  await stack?.close();
  await telegram?.close();
  await model?.close();
});

async function deliver(update: TelegramUpdate): Promise<void> {
  const url = `${stack.cloud.webhook}/telegram/default`;
  expect((await telegram.deliver(update, { url, secret: webhookSecret })).status).toBe(200);
}

/** Writes to the agent, which asks. @returns the message with the question */
async function ask() {
  const before = telegram.asked.length;
  await deliver(textUpdate("go"));
  await until(() => telegram.asked.length > before, "the agent asks");
  const asked = telegram.asked.at(-1)!;
  return { asked, now: () => telegram.sent.find(({ message_id }) => message_id === asked.message_id)! };
}

it("a press in the messenger runs the call, and tells the clients; nothing lacks a permission", async () => {
  const { asked, now } = await ask();
  await deliver(pressUpdate(asked, "Allow once"));
  expect(now()).toMatchObject({ text: expect.stringContaining("Allowed once by telegram 5001002003.") });
  const resolved = await client.event(
    (_payload, name) => name === "approval.resolved",
    "the client gets the end",
  );
  expect(resolved).toMatchObject({ state: "allowed", answer: { by: "telegram 5001002003" } });
  await until(() => telegram.sent.at(-1)?.message_id !== asked.message_id, "the run ends");
  expect(telegram.sent.at(-1)?.text).not.toContain("denied");
  expect(await client.call("approval.list", {})).toMatchObject({ count: 0 });
  expect(stack.roles.refusals()).toEqual([]);
});

it("an answer of a client is shown in the messenger", async () => {
  const { asked, now } = await ask();
  const { approvals } = await client.call<{ approvals: { id: string; hash: string }[] }>("approval.list", {});
  const { id, hash } = approvals[0]!;
  const { token } = await stack.createToken(["client", "approve"]);
  const phone = await openClient(stack.cloud.ws, token, "phone");
  expect(await phone.call("approval.answer", { id, hash, decision: "deny" })).toEqual({ status: "answered" });
  await until(() => now().reply_markup === undefined, "the question is closed");
  expect(now().text).toContain("Denied by client test");
  await deliver(pressUpdate(asked, "Allow once"));
  expect([...telegram.pressed.values()].at(-1)).toMatch(/^Already answered. Denied/);
  await phone.close();
  expect(stack.roles.refusals()).toEqual([]);
});
