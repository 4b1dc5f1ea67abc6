import { afterAll, beforeAll, expect, it } from "vitest";
import { gsv } from "../../cli/run-gsv.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { openClient } from "../../support/peer.ts";
import { directCommand } from "../../support/platforms/discord/discord-interactions.ts";
import { type DiscordServer, startDiscordServer } from "../../support/platforms/discord/discord-server.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import {
  changeOf,
  notificationOf,
  notify,
  statusOf,
  whatsappMessage,
} from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import {
  startWhatsappServer,
  type WhatsappServer,
} from "../../support/platforms/whatsapp/whatsapp-server.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let telegram: TelegramServer;
let discord: DiscordServer;
let whatsapp: WhatsappServer;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "hello from the agent" }));
  [telegram, discord, whatsapp] = await Promise.all([
    startTelegramServer({ local: true }),
    startDiscordServer(),
    startWhatsappServer(),
  ]);
  stack = await startStack();
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  for (const server of [telegram, discord, whatsapp, model]) await server?.close();
});

/** The command line, as the owner runs it. */
async function run(args: string[], input = "") {
  const env = { GSV_URL: stack.cloud.ws, GSV_TOKEN: stack.token };
  const { code, stdout, stderr } = await gsv([...args, "--json"], { env, input });
  // A new channel has no owner yet.
  expect(stderr).toMatch(/^(gsv: \w+ has no owner: [^\n]+\n)?$/);
  return { code, result: JSON.parse(stdout) };
}
const add = (name: string, account: object, ...options: string[]) =>
  run(["channel", "add", name, "--from", "-", ...options], JSON.stringify(account));
const statusBy = async (name: string) =>
  (await run(["channel", "status", name])).result.channels[0].accounts[0];

it("one command adds a Telegram bot, which answers once its owner is approved", async () => {
  const account = { botToken: telegram.token, apiBaseUrl: telegram.url };
  const { code, result } = await add("telegram", account, "--policy", "pairing");
  expect([code, result]).toMatchObject([
    0,
    {
      identity: "@gsv_test_bot",
      webhookUrl: `${stack.cloud.webhook}/telegram/default`,
      registration: { status: "registered" },
    },
  ]);
  // The update goes to the registered webhook, with the generated secret.
  expect((await telegram.deliver(textUpdate("hello"))).status).toBe(200);
  expect((await run(["pair", "list"])).result.pairs).toMatchObject({
    "telegram:default:5001002003": { senderName: "Ann Example", message: "hello" },
  });
  const approved = await run(["pair", "approve", "telegram", "5001002003", "--owner"]);
  expect(approved.result).toMatchObject({ role: "owner" });
  await until(() => telegram.sent.length === 2, "the message is answered");
  expect(telegram.sent[1]?.text).toBe("hello from the agent");
  expect(await statusBy("telegram")).toMatchObject({ connected: true, extra: { identity: "@gsv_test_bot" } });
  expect((await run(["channel", "test", "telegram", "42", "--text", "a test"])).result).toMatchObject({
    ok: true,
  });
  expect(telegram.sent.at(-1)).toMatchObject({ chat: { id: 42 }, text: "a test" });
});

it("a stopped account answers requests with 200, accepts and sends nothing, and resumes when it is started", async () => {
  await run(["channel", "stop", "telegram"]);
  await expect
    .poll(async () => (await run(["channel", "test", "telegram", "42"])).result.error?.message)
    .toContain("telegram/default: stopped");
  const asked = model.requests.length;
  const sent = telegram.sent.length;
  // Functions keep the configuration for up to five seconds.
  await new Promise((resolve) => setTimeout(resolve, 5_100));
  expect((await telegram.deliver(textUpdate("are you there?"))).status).toBe(200);
  expect((await run(["channel", "list"])).result.channels).toMatchObject([
    { channel: "telegram", accountId: "default", stopped: true, lastMessageAt: expect.any(Number) },
  ]);
  expect((await run(["channel", "start", "telegram"])).code).toBe(0);
  await telegram.deliver(textUpdate("and now?"));
  await until(() => telegram.sent.length === sent + 1, "it is answered again");
  expect(model.requests).toHaveLength(asked + 1);
  expect(JSON.stringify(model.requests.at(-1)?.body)).not.toContain("are you there?");
});

it("one command adds a Discord application with its commands, and Discord checks the endpoint before saving it", async () => {
  const { botToken, applicationId, publicKey, url: apiBaseUrl } = discord;
  const account = { botToken, applicationId, publicKey, apiBaseUrl };
  const { code, result } = await add("discord", account, "--policy", "open");
  expect([code, result.registration]).toEqual([0, { status: "registered" }]);
  expect(discord.application).toMatchObject({
    endpoint: `${stack.cloud.webhook}/discord/default`,
    commands: [{ name: "gsv" }, { name: "Ask gsv" }],
  });
  await discord.deliver(stack.cloud.webhook, directCommand("hello"));
  await until(() => discord.shown().includes("hello from the agent"), "the command is answered");
  const other = await add("discord", { ...account, publicKey: "0".repeat(64) });
  expect(other).toMatchObject({ code: 1, result: { error: { code: 400 } } });
  expect(other.result.error.message).toContain("the public key does not belong to the application");
});

it("the status shows messages that WhatsApp did not deliver, at once or later", async () => {
  const { accessToken, appSecret, phoneNumberId, url: apiBaseUrl } = whatsapp;
  const { result } = await add(
    "whatsapp",
    { accessToken, appSecret, phoneNumberId, apiBaseUrl },
    "--policy",
    "open",
  );
  expect(result.registration.status).toBe("manual");
  expect(await statusBy("whatsapp")).toMatchObject({
    connected: true,
    extra: { identity: "+1 555-0100 Gsv" },
  });
  whatsapp.away.add("16505551234");
  await whatsapp.deliver(stack.cloud.webhook, notify(whatsappMessage("hello")));
  const lastError = async () => (await statusBy("whatsapp")).extra.lastError;
  await expect.poll(lastError).toBe("outside WhatsApp's 24-hour window: the user must write first");
  const statuses = [statusOf("failed", { code: 131026, title: "Message undeliverable" })];
  await whatsapp.deliver(stack.cloud.webhook, notificationOf(changeOf({ statuses })));
  expect(await lastError()).toBe("131026 Message undeliverable");
});

it("removing an account deletes its secret and its webhook", async () => {
  await run(["channel", "remove", "telegram", "--yes"]);
  expect(telegram.calls.at(-1)).toMatchObject({ method: "deleteWebhook" });
  const secret = stack.secrets.get("channels.telegram.accounts.default.botToken");
  expect(await secret).toBeUndefined();
  expect((await run(["channel", "stop", "telegram"])).result).toMatchObject({ error: { code: 404 } });
});

it("no platform here has a login, and all methods need the scope admin", async () => {
  const owner = await stack.client();
  for (const method of ["channel.login", "channel.logout"]) {
    const { error } = await owner.request(method, { channel: "discord" });
    expect(error).toMatchObject({
      code: 400,
      message: expect.stringMatching(/gsv channel add discord.*gsv channel remove discord/),
    });
  }
  const { token } = await stack.createToken(["client"]);
  const phone = await openClient(stack.cloud.ws, token, "phone");
  for (const method of ["start", "stop", "login", "logout", "remove", "test"])
    expect(
      (await phone.request(`channel.${method}`, { channel: "discord", to: "1" })).error.code,
      method,
    ).toBe(403);
  await phone.close();
  await owner.close();
});
