import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ChannelAccount, OutboundFile } from "../../../shared/channels/channel.ts";
import { channels } from "../../../shared/channels/channels.ts";
import { imageBytes } from "../../support/images.ts";
import { type DiscordServer, startDiscordServer } from "../../support/platforms/discord/discord-server.ts";
import { type SlackServer, startSlackServer } from "../../support/platforms/slack/slack-server.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import {
  startWhatsappServer,
  type WhatsappServer,
} from "../../support/platforms/whatsapp/whatsapp-server.ts";

const photo: OutboundFile = { filename: "a.jpg", mimeType: "image/jpeg", body: imageBytes("image/jpeg") };
const plan: OutboundFile = {
  filename: 'Überweisung "1".pdf',
  mimeType: "application/pdf",
  body: Buffer.from("%PDF"),
};

let telegram: TelegramServer;
let whatsapp: WhatsappServer;
let slack: SlackServer;
let discord: DiscordServer;
beforeAll(async () => {
  [telegram, whatsapp, slack, discord] = await Promise.all([
    startTelegramServer(),
    startWhatsappServer(),
    startSlackServer(),
    startDiscordServer(),
  ]);
});
afterAll(() => Promise.all([telegram, whatsapp, slack, discord].map((server) => server.close())));

const accountOf = (url: string, settings: object, secrets: Record<string, string>): ChannelAccount => ({
  accountId: "default",
  settings: { apiBaseUrl: url, ...settings },
  secrets,
});
const bytesOf = async (file: File | undefined) =>
  Buffer.from((await file?.arrayBuffer()) ?? new ArrayBuffer());

describe("a file on Telegram", () => {
  const send = (file: OutboundFile, peer = { kind: "dm", id: "5001002003" }, replyToId?: string) =>
    channels.telegram?.sendFile?.(accountOf(telegram.url, {}, { botToken: telegram.token }), {
      peer,
      file,
      ...(replyToId ? { replyToId } : {}),
    });
  beforeEach(() => {
    telegram.uploads.length = 0;
  });

  it.each([
    ["image/jpeg", "photo"],
    ["image/gif", "document"],
    ["audio/ogg", "voice"],
    ["audio/mpeg", "audio"],
    ["video/mp4", "video"],
    ["application/pdf", "document"],
  ])("is sent by its type: %s as a %s", async (mimeType, field) => {
    const outcome = await send({ ...plan, mimeType });
    expect(outcome).toEqual({ status: "sent", messageId: String(telegram.sent.at(-1)?.message_id) });
    expect(telegram.uploads).toMatchObject([{ field, file: { name: plan.filename, type: mimeType } }]);
    expect(await bytesOf(telegram.uploads[0]?.file)).toEqual(plan.body);
  });

  it("is sent as a document when Telegram rejects it as a photo", async () => {
    expect(await send({ ...photo, body: Buffer.alloc(11 * 1024 * 1024) })).toMatchObject({ status: "sent" });
    expect(telegram.uploads).toMatchObject([{ field: "document" }]);
  });

  it("answers a message of a group, in its topic", async () => {
    await send(photo, { kind: "thread", id: "-100123/42" }, "7");
    expect(telegram.calls.at(-1)?.params).toMatchObject({
      chat_id: "-100123",
      message_thread_id: "42",
      reply_parameters: { message_id: 7, allow_sending_without_reply: true },
    });
  });

  it("is retried, or given up, like a text", async () => {
    telegram.fail("sendPhoto", { retryAfter: 3 });
    expect(await send(photo)).toMatchObject({ status: "retry", retryAfterMs: 3000 });
    const blocked = { status: 403, description: "Forbidden: bot was blocked by the user" };
    telegram.fail("sendDocument", blocked);
    expect(await send(plan)).toEqual({ status: "failed", reason: `403 ${blocked.description}` });
  });
});

describe("a file on WhatsApp", () => {
  const account = () =>
    accountOf(whatsapp.url, { phoneNumberId: whatsapp.phoneNumberId }, { accessToken: whatsapp.accessToken });
  const send = (file: OutboundFile, replyToId?: string) =>
    channels.whatsapp?.sendFile?.(account(), {
      peer: { kind: "dm", id: "16505551234" },
      file,
      ...(replyToId ? { replyToId } : {}),
    });
  beforeEach(() => {
    whatsapp.sent.length = 0;
    whatsapp.uploads.clear();
  });
  afterEach(() => whatsapp.away.clear());

  it.each([photo, plan, { ...plan, mimeType: "audio/ogg" }, { ...plan, mimeType: "video/mp4" }])(
    "is uploaded and then sent by its type: $mimeType",
    async (file) => {
      expect(await send(file, "wamid.1")).toEqual({ status: "sent", messageId: whatsapp.sent[0]?.id });
      expect(whatsapp.sent).toMatchObject([{ to: "16505551234", replyTo: "wamid.1" }]);
      expect(await bytesOf(whatsapp.sent[0]?.file)).toEqual(Buffer.from(file.body));
    },
  );

  it("has a name only as a document", async () => {
    await send(plan);
    const { body } = whatsapp.calls.at(-1) ?? {};
    expect(body).toMatchObject({ type: "document", document: { filename: plan.filename } });
    await send(photo);
    expect(whatsapp.calls.at(-1)?.body?.image).toEqual({ id: expect.any(String) });
  });

  it("of a type that WhatsApp does not accept is not sent", async () => {
    const calls = whatsapp.calls.length;
    expect(await send({ ...plan, mimeType: "application/zip" })).toEqual({
      status: "failed",
      reason: "WhatsApp accepts no files of the type application/zip",
    });
    expect(whatsapp.calls).toHaveLength(calls);
  });

  it("that is too large, or a day too late, fails with the reason", async () => {
    expect(await send({ ...photo, body: imageBytes("image/jpeg", 6_000_000) })).toEqual({
      status: "failed",
      reason: "131053 Media upload error",
    });
    whatsapp.away.add("16505551234");
    expect(await send(photo)).toEqual({
      status: "failed",
      reason: "outside WhatsApp's 24-hour window: the user must write first",
    });
  });
});

describe("a file on Slack", () => {
  const send = (file: OutboundFile, id = "D024BE91L", context?: Record<string, string>) =>
    channels.slack?.sendFile?.(accountOf(slack.url, {}, { botToken: slack.botToken }), {
      peer: { kind: "dm", id },
      file,
      ...(context ? { context } : {}),
    });
  beforeEach(() => {
    slack.uploads.length = 0;
  });

  it("is uploaded, and then shared in its conversation", async () => {
    expect(await send(plan)).toEqual({ status: "sent", messageId: "F0UP1" });
    expect(slack.uploads).toMatchObject([{ name: plan.filename, length: 4, channel: "D024BE91L" }]);
    expect(slack.uploads[0]).not.toHaveProperty("thread_ts");
    expect(await bytesOf(slack.uploads[0]?.file)).toEqual(plan.body);
    await send(photo, "C0LAN2Q65/1780000000.000200");
    expect(slack.uploads[1]).toMatchObject({ channel: "C0LAN2Q65", thread_ts: "1780000000.000200" });
    await send(photo, "D024BE91L", { threadTs: "1780000000.000300" });
    expect(slack.uploads[2]).toMatchObject({ channel: "D024BE91L", thread_ts: "1780000000.000300" });
  });

  it.each([
    ["the address is asked for", "getUploadURLExternal"],
    ["it is uploaded", "/upload/"],
    ["it is shared", "completeUploadExternal"],
  ])("may fail at %s: retryable if temporary, else with the reason", async (_step, part) => {
    slack.fail(part, { status: 503, body: "<html>" });
    expect(await send(plan)).toMatchObject({ status: "retry", reason: expect.stringMatching(/503/) });
    slack.fail(part, { status: 403, body: { ok: false, error: "missing_scope", needed: "files:write" } });
    expect(await send(plan)).toMatchObject({ status: "failed" });
    expect(slack.uploads.filter(({ channel }) => channel)).toEqual([]);
  });

  it("that the app may not upload reports the missing permission", async () => {
    slack.fail("getUploadURLExternal", {
      status: 200,
      body: { ok: false, error: "missing_scope", needed: "files:write" },
    });
    const reason = "authentication failed: missing_scope (needed: files:write)";
    expect(await send(plan)).toEqual({ status: "failed", reason });
  });
});

describe("a file on Discord", () => {
  const room = "645027906669510667";
  const account = () =>
    accountOf(discord.url, { applicationId: discord.applicationId }, { botToken: discord.botToken });
  const send = (file: OutboundFile, context?: Record<string, string>, replyToId?: string) =>
    channels.discord?.sendFile?.(account(), {
      peer: { kind: "dm", id: room },
      file,
      ...(context ? { context } : {}),
      ...(replyToId ? { replyToId } : {}),
    });
  const interaction = (content: string) => {
    const original = { id: "1", channel_id: room, content, attachments: [], flags: content ? 0 : 128 };
    discord.interactions.set("t", { original, followups: [], isExpired: false });
    return { interactionToken: "t", receivedAt: String(Date.now() - 60_000) };
  };
  beforeEach(() => {
    discord.messages.length = 0;
    discord.uploads.length = 0;
  });

  it("is a message of the bot, which notifies nobody", async () => {
    expect(await send(plan)).toEqual({ status: "sent", messageId: discord.messages[0]?.id });
    expect(discord.messages).toMatchObject([
      { channel_id: room, attachments: [{ filename: plan.filename, content_type: "application/pdf" }] },
    ]);
    expect(await bytesOf(discord.uploads[0])).toEqual(plan.body);
    const payload = JSON.parse(String(discord.calls.at(-1)?.form?.get("payload_json")));
    expect(payload).toEqual({ allowed_mentions: { parse: [] } });
  });

  it("follows the answer to an interaction, or replaces the deferred response", async () => {
    await send(photo, interaction("an answer"));
    expect(discord.interactions.get("t")?.followups).toMatchObject([{ attachments: [{}] }]);
    const waiting = interaction("");
    await send(photo, waiting, "7");
    expect(discord.interactions.get("t")?.original).toMatchObject({ attachments: [{}], flags: 0 });
    // The existing answer stays.
    await send(plan, waiting, "7");
    expect(discord.interactions.get("t")?.original.attachments).toMatchObject([{ filename: "a.jpg" }]);
    expect(discord.interactions.get("t")?.followups).toHaveLength(1);
    expect(discord.messages).toEqual([]);
  });

  it("replaces no answer while Discord does not say whether there is one", async () => {
    const answered = interaction("an answer");
    discord.fail("GET", { status: 500, body: "{}" });
    expect(await send(photo, answered, "7")).toMatchObject({ status: "retry" });
    expect(discord.interactions.get("t")?.original).toMatchObject({ content: "an answer", attachments: [] });
    await send(photo, answered, "7");
    expect(discord.interactions.get("t")?.followups).toMatchObject([{ attachments: [{}] }]);
  });

  it("that is too large fails with the reason", async () => {
    expect(await send({ ...plan, body: Buffer.alloc(11 * 1024 * 1024) })).toEqual({
      status: "failed",
      reason: "413 40005 Request entity too large",
    });
  });
});
