import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { statusOf } from "../../shared/channels/account-status.ts";
import {
  type AccountTools,
  findChannel,
  removeAccount,
  startAccount,
  stopAccount,
} from "../../shared/channels/accounts.ts";
import { createActivity, readActivity, recordFailures } from "../../shared/channels/activity.ts";
import { openBridges } from "../../shared/channels/bridge/bridge.ts";
import { channels } from "../../shared/channels/channels.ts";
import { listRequests, openRequest } from "../../shared/channels/inbound/pairing.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { type Platform, platformStarts } from "../support/platforms/platforms.ts";
import { startTelegramServer } from "../support/platforms/telegram/telegram-server.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let accounts: AccountTools;

beforeEach(async () => {
  state = await startState();
  const secrets = state.openSecrets("/gsv/test");
  const { table } = state;
  const activity = createActivity(table, Date.now);
  const sockets = { post: async () => "gone" as const };
  const payloads = { keepFile: async () => "", fileUrl: async () => "" };
  const configuration = openConfiguration(table, secrets);
  const options = { table, sockets, activity, payloads, platforms: channels, configuration, now: Date.now };
  accounts = {
    table,
    secrets,
    configuration,
    channels,
    activity,
    bridges: openBridges(options),
    webhookUrl: "https://hook.example/",
    now: Date.now,
  };
});
afterEach(() => state.close());

const status = (name: string, accountId = "default") =>
  statusOf(accounts, findChannel(accounts, name), accountId);

describe.each(Object.entries(platformStarts))("an account of %s", (name, start) => {
  let platform: Platform;
  beforeEach(async () => {
    platform = await start();
  });
  afterEach(() => platform.close());
  const address = { channel: name, accountId: "default" };

  it("is stored, with separate secrets, after the platform accepts its credentials", async () => {
    const started = await startAccount(accounts, address, platform.account);
    expect(started).toMatchObject({
      identity: expect.stringMatching(/gsv/i),
      webhookUrl: `https://hook.example/${name}/default`,
    });
    const { fields } = findChannel(accounts, name);
    const stored = (await accounts.configuration.load({ fresh: true })).channels[name]?.accounts?.default;
    expect(stored).toEqual({
      ...platform.account,
      ...Object.fromEntries(fields.filter(({ secret }) => secret).map((field) => [field.name, "***"])),
    });
    expect(await status(name)).toMatchObject({ accountId: "default", authenticated: true });
  });

  it("is not stored when the platform rejects them, and the secret is not shown", async () => {
    const { fields } = findChannel(accounts, name);
    const wrong =
      fields.find((field) => field.secret && /token/i.test(field.name) && !field.free)?.name ?? "";
    const given = { ...platform.account, [wrong]: "7000000009:a-token-that-is-wrong" };
    const refused = await startAccount(accounts, address, given).catch((error: Error) => error);
    expect(refused).toMatchObject({
      code: 400,
      message: expect.stringContaining("rejects these credentials"),
    });
    expect(JSON.stringify(refused)).not.toContain("a-token-that-is-wrong");
    expect((await accounts.configuration.load({ fresh: true })).channels).toEqual({});
  });

  it("needs every field, and accepts no other", async () => {
    for (const { name: field } of findChannel(accounts, name).fields) {
      const { [field]: _left, ...rest } = platform.account;
      const message = `config: ${name} needs ${field}; \`gsv channel add ${name}\` asks for them`;
      await expect(startAccount(accounts, address, rest)).rejects.toMatchObject({ code: 400, message });
    }
    const more = { ...platform.account, pigeonToken: "x" };
    await expect(startAccount(accounts, address, more)).rejects.toThrow("config.pigeonToken: unknown");
    await expect(startAccount(accounts, address, { agentId: 5 })).rejects.toThrow(
      "config.agentId: expected a text",
    );
  });

  it("names the command that connects it when it does not exist", async () => {
    const connects = `\`gsv channel add ${name}\` connects one`;
    const message = `there is no account default of ${name}; ${connects}`;
    await expect(startAccount(accounts, address)).rejects.toMatchObject({ code: 404, message });
    await expect(stopAccount(accounts, address)).rejects.toMatchObject({ code: 404, message });
    const other = startAccount(accounts, { ...address, accountId: "work" });
    await expect(other).rejects.toThrow(`\`gsv channel add ${name} work\``);
  });

  it("is started again with its stored fields, one of which may be replaced", async () => {
    await startAccount(accounts, address, platform.account);
    await stopAccount(accounts, address);
    expect(await status(name)).toMatchObject({ connected: false, extra: { stopped: true } });
    await startAccount(accounts, address, { agentId: "work" });
    const stored = (await accounts.configuration.load({ fresh: true })).channels[name]?.accounts?.default;
    expect(stored).toMatchObject({ agentId: "work" });
    expect(stored).not.toHaveProperty("enabled");
    expect(await status(name)).toMatchObject({ authenticated: true, extra: { stopped: false } });
  });

  it("names the fault when the platform is down, or the account is incomplete", async () => {
    await startAccount(accounts, address, platform.account);
    await accounts.configuration.set(`channels.${name}.accounts.half`, { apiBaseUrl: platform.url });
    expect((await status(name, "half")).error).toMatch(/^no .* configured$/);
    await platform.close();
    expect(await status(name)).toMatchObject({
      connected: false,
      authenticated: false,
      error: expect.stringMatching(/^no connection/),
    });
  });

  it("is removed with its secrets and its pairing requests", async () => {
    await startAccount(accounts, address, platform.account);
    const message = { peer: { kind: "dm", id: "1" }, sender: { id: "1" }, messageId: "1", text: "hi" };
    const event = { ...message, eventId: "1", timestamp: 1, wasMentioned: false };
    await openRequest(state.table, address, event, Date.now());
    await openRequest(state.table, { ...address, accountId: "other" }, event, Date.now());
    await removeAccount(accounts, address);
    expect(await accounts.configuration.get(`channels.${name}.accounts`)).toMatchObject({ value: null });
    for (const { name: field } of findChannel(accounts, name).fields)
      expect(
        await state.openSecrets("/gsv/test").get(`channels.${name}.accounts.default.${field}`),
      ).toBeUndefined();
    expect((await listRequests(state.table, Date.now())).map(({ accountId }) => accountId)).toEqual([
      "other",
    ]);
    expect((await readActivity(state.table, Date.now()))(address)).toEqual({});
    await expect(removeAccount(accounts, address)).rejects.toMatchObject({ code: 404 });
    await expect(stopAccount(accounts, address)).rejects.toMatchObject({ code: 404 });
  });

  it("stores why an answer was last not delivered", async () => {
    await startAccount(accounts, address, platform.account);
    platform.refuse("never");
    const sender = recordFailures(
      createChannelSender({ ...accounts, wait: async () => {} }),
      accounts.activity,
    );
    const peer = { kind: "dm", id: name === "slack" ? "D061F7AUR" : platform.people.ann };
    const delivered = await sender.deliver({ kind: "channel", ...address, peer }, "a", "hello");
    const { lastError, lastErrorAt } = (await status(name)).extra;
    expect(delivered).toEqual({ ok: false, reason: lastError });
    expect(lastErrorAt).toBeGreaterThan(Date.now() - 60_000);
  });
});

describe("an account of Telegram", () => {
  it("has its webhook registered with its secret, and removed with the account", async () => {
    const telegram = await startTelegramServer({ local: true });
    const address = { channel: "telegram", accountId: "default" };
    const config = { botToken: telegram.token, webhookSecret: "a-secret", apiBaseUrl: telegram.url };
    const { registration } = await startAccount(accounts, address, config);
    expect(registration).toEqual({ status: "registered" });
    expect(telegram.calls.at(-1)).toMatchObject({
      method: "setWebhook",
      params: {
        url: "https://hook.example/telegram/default",
        secret_token: "a-secret",
        allowed_updates: [
          "message",
          "channel_post",
          "edited_message",
          "edited_channel_post",
          "callback_query",
          "message_reaction",
        ],
      },
    });
    expect(await status("telegram")).toMatchObject({ connected: true });
    accounts.webhookUrl = "https://elsewhere.example/";
    expect(await status("telegram")).toMatchObject({
      connected: false,
      error: "the platform calls another webhook: https://hook.example/telegram/default",
    });
    await removeAccount(accounts, address);
    expect(telegram.calls.at(-1)).toMatchObject({ method: "deleteWebhook" });
    await telegram.close();
  });

  it("is stored although Telegram refuses the webhook, with the reason", async () => {
    const telegram = await startTelegramServer();
    accounts.webhookUrl = "http://hook.example/";
    const config = { botToken: telegram.token, webhookSecret: "a-secret", apiBaseUrl: telegram.url };
    const address = { channel: "telegram", accountId: "default" };
    const { registration } = await startAccount(accounts, address, config);
    expect(registration).toEqual({
      status: "failed",
      reason: expect.stringContaining("HTTPS URL must be provided"),
    });
    expect(await status("telegram")).toMatchObject({
      authenticated: true,
      connected: false,
      error: "no webhook is registered at the platform; start the account",
    });
    await telegram.close();
  });
});
