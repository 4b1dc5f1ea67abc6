import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ownValue } from "../../shared/channels/account.ts";
import type { Channel } from "../../shared/channels/channel.ts";
import type { ChannelName } from "../../shared/channels/channels.ts";
import { directCommand } from "../support/platforms/discord/discord-interactions.ts";
import { ed25519Key, signDiscord } from "../support/platforms/discord/discord-signature.ts";
import { type MutationName, mutated } from "../support/platforms/mutations.ts";
import { callWebhook, type SignedRequest } from "../support/platforms/platform-server.ts";
import { directMessage } from "../support/platforms/slack/slack-events.ts";
import { signSlack } from "../support/platforms/slack/slack-server.ts";
import { textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { notify, whatsappMessage } from "../support/platforms/whatsapp/whatsapp-notifications.ts";
import { challengeRequest, signMeta } from "../support/platforms/whatsapp/whatsapp-server.ts";
import { seededRandom } from "../support/random.ts";
import { type Bench, startBench } from "./bench.ts";

/** `npm run fuzz` sends many more. */
const mutationsEach = 300;

/** Keys of RFC 8032, section 7.1: tests 1 and 2. */
const discordSeed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const discordKeys = [
  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
];

interface Case {
  /** The account's settings with these secrets. */
  settings(secret: string, index: number): Record<string, string>;
  /** An accepted request for the account with the secret `first`. */
  valid(): SignedRequest;
  /** The parts that the signature, or the secret, protects. */
  parts: MutationName[];
  required: string[];
}

const first = "the-first_secret-0123456789abcdef";
const second = "the-second_secret-0123456789abcdef";
const seconds = () => Math.floor(Date.now() / 1000);
const signed: MutationName[] = ["body", "header", "path", "account", "method"];

const cases: Record<ChannelName, Case> = {
  telegram: {
    settings: (webhookSecret) => ({ botToken: "1:token", webhookSecret }),
    valid: () => ({
      method: "POST",
      path: "/telegram/default",
      headers: { "content-type": "application/json", "x-telegram-bot-api-secret-token": first },
      body: JSON.stringify(textUpdate("hello")),
    }),
    // Telegram does not sign requests but sends a secret: a sender with the secret may send any body.
    parts: ["header", "path", "account", "method"],
    required: ["botToken", "webhookSecret"],
  },
  slack: {
    settings: (signingSecret) => ({ botToken: "xoxb-token", signingSecret }),
    valid: () => signSlack(first, JSON.stringify(directMessage("hello")), seconds()),
    parts: [...signed, "timestamp"],
    required: ["botToken", "signingSecret"],
  },
  whatsapp: {
    settings: (appSecret) => ({
      appSecret,
      accessToken: "EAAJB",
      verifyToken: appSecret,
      phoneNumberId: "106540352242922",
    }),
    valid: () => signMeta(first, JSON.stringify(notify(whatsappMessage("hello")))),
    parts: signed,
    required: ["accessToken", "appSecret", "verifyToken", "phoneNumberId"],
  },
  discord: {
    settings: (_secret, index) => ({
      botToken: "token",
      applicationId: "198622483471925248",
      publicKey: discordKeys[index] ?? "",
    }),
    valid: () =>
      signDiscord(ed25519Key(discordSeed), JSON.stringify(directCommand("hello")), String(seconds())),
    parts: [...signed, "timestamp"],
    required: ["applicationId", "botToken", "publicKey"],
  },
};

let on: Bench;

beforeAll(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  on = await startBench();
  for (const [name, { settings }] of Object.entries(cases)) {
    // Nothing listens there: a call of the platform's API would fail and not leave the machine.
    const apiBaseUrl = "http://127.0.0.1:1";
    await on.configure(`channels.${name}`, {
      dmPolicy: "open",
      owners: ["5001002003", "16505551234", "U061F7AUR", "53908232506183680"],
      accounts: {
        default: { ...settings(first, 0), apiBaseUrl },
        second: { ...settings(second, 1), apiBaseUrl },
        off: { ...settings(second, 1), apiBaseUrl, enabled: false },
      },
    });
  }
});
afterAll(async () => {
  vi.restoreAllMocks();
  await on.close();
});

describe.each(Object.entries(cases))("a request of %s", (name, { valid, parts, settings, required }) => {
  it("is refused after any change, and nothing is stored", async () => {
    const random = seededRandom(20_260_928);
    const request = valid();
    on.writes = 0;
    on.woken.length = 0;
    for (let count = 0; count < mutationsEach; count++) {
      const changed = mutated(request, parts, random);
      const { status } = await callWebhook(on.url, changed);
      expect([401, 404, 405, 503], JSON.stringify(changed)).toContain(status);
    }
    expect([on.writes, on.woken]).toEqual([0, []]);
    expect(await on.session("agent:main:main")).toBeUndefined();
    // The original request is accepted.
    expect(await callWebhook(on.url, request)).toMatchObject({ status: 200 });
    expect(on.woken).toEqual(["agent:main:main"]);
    await on.table.delete({ pk: "S#agent:main:main", sk: "META" });
  });

  it("is not read if a required setting is missing", async () => {
    const channel = ownValue(on.webhook.channels, name) as Channel;
    const unread: Channel = { ...channel, receive: () => Promise.reject(new Error("it was read")) };
    for (const missing of required) {
      const { [missing]: _left, ...rest } = settings(first, 0);
      await on.configure(`channels.${name}.accounts.half`, rest);
      on.webhook = { ...on.webhook, channels: { [name]: unread } };
      on.writes = 0;
      const answer = await callWebhook(on.url, { ...valid(), path: `/${name}/half` });
      expect([answer.status, answer.text], missing).toEqual([503, '{"error":"not configured"}']);
      expect(on.writes).toBe(0);
    }
    await on.configure(`channels.${name}.accounts.half`, null);
  });
});

describe("Meta's verification of a webhook", () => {
  it("is refused after any change", async () => {
    const random = seededRandom(20_260_929);
    const request = challengeRequest(first, "1158201444");
    for (let count = 0; count < mutationsEach; count++) {
      const changed = mutated(request, ["query", "path", "account", "method"], random);
      const { status, text } = await callWebhook(on.url, changed);
      expect([401, 403, 404, 405, 503], JSON.stringify(changed)).toContain(status);
      expect(text).not.toContain("1158201444");
    }
    expect(await callWebhook(on.url, request)).toMatchObject({ status: 200, text: "1158201444" });
  });
});

describe("a recorded request of Slack that is replayed later", () => {
  it("is refused after five minutes, and if it is from the future", async () => {
    const body = JSON.stringify(directMessage("hello"));
    for (const [age, status] of [
      [400, 401],
      [86_400, 401],
      [-400, 401],
      [200, 200],
      [-200, 200],
    ] as const)
      expect((await callWebhook(on.url, signSlack(first, body, seconds() - age))).status, `${age}`).toBe(
        status,
      );
  });
});
