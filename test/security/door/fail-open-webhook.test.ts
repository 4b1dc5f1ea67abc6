import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { directCommand } from "../../support/platforms/discord/discord-interactions.ts";
import { signDiscord } from "../../support/platforms/discord/discord-signature.ts";
import { callWebhook, type SignedRequest } from "../../support/platforms/platform-server.ts";
import { directMessage } from "../../support/platforms/slack/slack-events.ts";
import { signSlack } from "../../support/platforms/slack/slack-server.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { notify, whatsappMessage } from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import { challengeRequest, signMeta } from "../../support/platforms/whatsapp/whatsapp-server.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** Fail-open webhook: without a secret, every request must be refused, whatever its signature. */

let on: AttackedGateway;
beforeAll(async () => {
  on = await startAttackedGateway();
  // Before the first request, because unknown accounts are cached for a while.
  for (const [name, { account }] of Object.entries(cases))
    await on.configure({ [`channels.${name}`]: { dmPolicy: "open", accounts: { half: account } } });
});
afterAll(() => on.close());

/** Values that faulty code uses as the key if there is none. */
const guesses = ["", "undefined", "null", "false", "***", "[object Object]"];
const seconds = () => Math.floor(Date.now() / 1000);
const json = { "content-type": "application/json" };
const telegram = (headers: Record<string, string>): SignedRequest => ({
  method: "POST",
  path: "/telegram/default",
  headers: { ...json, ...headers },
  body: JSON.stringify(textUpdate("hello")),
});
const { privateKey } = generateKeyPairSync("ed25519");

/** Accounts that lack only the secret for verification, and requests to them. */
const cases: Record<string, { account: object; requests: () => SignedRequest[] }> = {
  telegram: {
    account: { botToken: "1:token" },
    requests: () => [
      telegram({}),
      ...guesses.map((guess) => telegram({ "x-telegram-bot-api-secret-token": guess })),
    ],
  },
  slack: {
    account: { botToken: "xoxb-token" },
    requests: () => {
      const body = JSON.stringify(directMessage("hello"));
      const challenge = JSON.stringify({ type: "url_verification", challenge: "open", token: "x" });
      const unsigned = { method: "POST", path: "/slack/default", headers: json };
      return [
        { ...unsigned, body },
        { ...unsigned, body: challenge },
        ...guesses.map((guess) => signSlack(guess, body, seconds())),
      ];
    },
  },
  whatsapp: {
    account: { accessToken: "EAAJB", phoneNumberId: "106540352242922" },
    requests: () => {
      const body = JSON.stringify(notify(whatsappMessage("hello")));
      return [
        { method: "POST", path: "/whatsapp/default", headers: json, body },
        ...guesses.map((guess) => signMeta(guess, body)),
        ...guesses.map((guess) => challengeRequest(guess, "open")),
      ];
    },
  },
  discord: {
    account: { botToken: "token", applicationId: "198622483471925248" },
    requests: () => {
      const bodies = [JSON.stringify(directCommand("hello")), JSON.stringify({ type: 1 })];
      const unsigned = { method: "POST", path: "/discord/default", headers: json };
      return bodies.flatMap((body) => [
        { ...unsigned, body },
        signDiscord(privateKey, body, String(seconds())),
        {
          ...unsigned,
          headers: {
            ...json,
            "x-signature-ed25519": "00".repeat(64),
            "x-signature-timestamp": String(seconds()),
          },
          body,
        },
      ]);
    },
  },
};

describe.each(Object.entries(cases))("%s", (name, { requests }) => {
  it("refuses every request to an unknown account", () => refusesAll(name, requests()));

  it("refuses every request to an account that lacks only the secret", async () => {
    await refusesAll(
      name,
      requests().map((request) => ({ ...request, path: request.path.replace("/default", "/half") })),
    );
  });
});

async function refusesAll(name: string, requests: SignedRequest[]): Promise<void> {
  expect(requests.length).toBeGreaterThan(2);
  for (const request of requests) {
    const { status, text } = await callWebhook(on.webhook, request);
    expect([401, 503], JSON.stringify(request)).toContain(status);
    expect(text).not.toContain("open");
  }
  expect((await on.owner.call<{ count: number }>("sessions.list")).count, name).toBe(0);
}
