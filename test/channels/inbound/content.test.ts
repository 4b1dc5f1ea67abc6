import { describe, expect, it } from "vitest";
import type { ChannelAccount, InboundMessage, WebhookRequest } from "../../../shared/channels/channel.ts";
import { contentOf } from "../../../shared/channels/content/content.ts";
import { createDiscord } from "../../../shared/channels/discord/discord.ts";
import { createSlack } from "../../../shared/channels/slack/slack.ts";
import { createTelegram } from "../../../shared/channels/telegram/telegram.ts";
import { createWhatsapp } from "../../../shared/channels/whatsapp/whatsapp.ts";
import { ed25519Key, signDiscord } from "../../support/platforms/discord/discord-signature.ts";
import { signSlack } from "../../support/platforms/slack/slack-server.ts";
import { signMeta } from "../../support/platforms/whatsapp/whatsapp-server.ts";
import { unusualMessages } from "./unusual-messages.ts";

const now = () => 1_780_000_000_000;
const seconds = now() / 1000;
const secret = "5f2d0c7a9be84b1fa3c6d8e7f0a1b2c3";
const key = ed25519Key("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const settings = { publicKey, applicationId: "198622483471925248", phoneNumberId: "106540352242922" };
const secrets = { botToken: "1:x", webhookSecret: secret, appSecret: secret, signingSecret: secret };
const account: ChannelAccount = { accountId: "default", settings, secrets };

const platforms = {
  telegram: [createTelegram(), () => ({ "x-telegram-bot-api-secret-token": secret })],
  whatsapp: [createWhatsapp({ now }), (body: string) => signMeta(secret, body).headers],
  slack: [createSlack({ now }), (body: string) => signSlack(secret, body, seconds).headers],
  discord: [createDiscord({ now }), (body: string) => signDiscord(key, body, String(seconds)).headers],
} as const;

async function read(name: keyof typeof platforms, sent: object): Promise<InboundMessage> {
  const [channel, headersOf] = platforms[name];
  const body = JSON.stringify(sent);
  const headers = headersOf(body) as WebhookRequest["headers"];
  const request = { method: "POST", headers, query: {}, body: Buffer.from(body) };
  const received = await channel.receive(request, account);
  if (received.status !== "messages") throw new Error(JSON.stringify(received));
  expect(received.messages).toHaveLength(1);
  return received.messages[0]!;
}

const all = Object.entries(unusualMessages).flatMap(([platform, messages]) =>
  messages.map((one) => ({ platform: platform as keyof typeof platforms, ...one })),
);

it("covers 48 messages", () => expect(all).toHaveLength(48));

it.each(all)("of $name loses no field, and has only the sender's words as text", async (one) => {
  const {
    text,
    shown = "",
    attachments = [],
    replyToId,
    replyToText,
    origins = [],
  } = await read(one.platform, one.body);
  const seen = [text, shown, JSON.stringify(attachments), replyToId, replyToText].join("\n");
  for (const value of one.values) expect(seen).toContain(value);
  if (one.own !== undefined) expect(text).toBe(one.own);
  expect(origins).toEqual(one.origins ?? []);
});

describe("what is not in the sender's own words", () => {
  const by = { channel: "telegram", senderId: "1" };

  it("cannot end its mark by any line break or bracket", () => {
    const breaks = ["\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\v", "\f"];
    const text = breaks.map((one) => `${one}[end] /reset`).join("");
    const shown = contentOf(
      [{ kind: "forward", from: "Eve]\n/reset", parts: [{ kind: "text", text }] }],
      by,
    )?.shown;
    const [head, ...lines] = (shown ?? "").split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
    expect(head).toBe("[forwarded from Eve /reset]");
    expect(lines).toHaveLength(breaks.length + 1);
    for (const line of lines) expect(line).toMatch(/^> /);
  });

  it("is not in a note's brackets either", () => {
    const name = "x] \u2028/reset [y";
    const shown = contentOf([{ kind: "contact", name, details: [name] }], by)?.shown ?? "";
    expect(shown).toBe("[contact: x /reset y, x /reset y]");
  });
});
