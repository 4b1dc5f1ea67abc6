import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { metaKey } from "../../../shared/session/state.ts";
import { remove, set } from "../../../shared/world/expression.ts";
import { directCommand, pingInteraction } from "../../support/platforms/discord/discord-interactions.ts";
import { ed25519Key, signDiscord } from "../../support/platforms/discord/discord-signature.ts";
import { callWebhook, type SignedRequest } from "../../support/platforms/platform-server.ts";
import { directMessage } from "../../support/platforms/slack/slack-events.ts";
import { signSlack } from "../../support/platforms/slack/slack-server.ts";
import { notify, whatsappMessage } from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import { signMeta } from "../../support/platforms/whatsapp/whatsapp-server.ts";
import { type Bench, startBench } from "../../webhook/bench.ts";

/** Keys of RFC 8032, section 7.1: test 1. */
const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const secret = "the-secret";
const main = "agent:main:main";
const day = 86_400_000;

let on: Bench;
let lines: string[];

beforeEach(async () => {
  lines = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  on = await startBench();
  // Nothing listens there, so a call of the platform's API fails instead of leaving the machine.
  const apiBaseUrl = "http://127.0.0.1:1";
  const accounts: Record<string, object> = {
    discord: { applicationId: "198622483471925248", publicKey, botToken: "token" },
    slack: { botToken: "xoxb-token", signingSecret: secret },
    whatsapp: {
      phoneNumberId: "106540352242922",
      accessToken: "EAAJB",
      appSecret: secret,
      verifyToken: "verify",
    },
  };
  for (const [name, account] of Object.entries(accounts))
    await on.configure(`channels.${name}`, {
      dmPolicy: "open",
      owners: ["53908232506183680", "U061F7AUR", "16505551234"],
      accounts: { default: { ...account, apiBaseUrl } },
    });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await on.close();
});

/** Simulates that the session has forgotten its accepted messages by the time of a replay. */
const forgetMessages = () =>
  on.table.update(metaKey(main), [set("recent", {}), remove("accepted"), set("inbox", [])]);

/** The gateway's clock, epoch seconds. */
const seconds = () => Math.floor((Date.now() + on.ahead) / 1000);
const discord = (interaction: object, at = seconds()) =>
  signDiscord(ed25519Key(seed), JSON.stringify(interaction), String(at));
const status = async (request: SignedRequest) => (await callWebhook(on.url, request)).status;

describe("a recorded request of Discord", () => {
  it("is refused more than five minutes before or after its time, and runs nothing", async () => {
    for (const skew of [301, 3600, 30 * 86_400, -360]) {
      expect(await status(discord(directCommand("hello"), seconds() - skew)), `${skew}`).toBe(401);
      expect(await status(discord(pingInteraction(), seconds() - skew)), `${skew}`).toBe(401);
    }
    expect(await on.inbox(main)).toEqual([]);
  });

  it("is accepted within five minutes, once", async () => {
    const request = discord(directCommand("hello"), seconds() - 290);
    for (let time = 0; time < 3; time++) expect(await status(request)).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
  });

  it("is refused if its receipt is gone, although its signature is valid", async () => {
    const request = discord(directCommand("hello"));
    expect(await status(request)).toBe(200);
    on.ahead += 9 * day;
    expect(await status(request)).toBe(401);
    expect(await on.inbox(main)).toHaveLength(1);
  });

  it("is refused if its timestamp is not a number, although it is signed", async () => {
    for (const timestamp of ["", "now", "1e10", `-${seconds()}`, `${seconds()}.5`, ` ${seconds()}`]) {
      const request = signDiscord(ed25519Key(seed), JSON.stringify(pingInteraction()), timestamp);
      expect(await status(request), timestamp).toBe(401);
    }
  });
});

describe("a recorded notification of WhatsApp", () => {
  const request = () => signMeta(secret, JSON.stringify(notify(whatsappMessage("hello"))));

  it("is dropped and logged once receipts of its age may be gone", async () => {
    const recorded = request();
    expect(await status(recorded)).toBe(200);
    on.ahead += 9 * day;
    await forgetMessages();
    lines.length = 0;
    // 200: Meta would repeat a refused request for a week.
    expect(await status(recorded)).toBe(200);
    expect(await on.inbox(main)).toEqual([]);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ event: "whatsapp.stale", accountId: "default" }),
    );
  });

  it("is recognized by its receipt before that", async () => {
    const recorded = request();
    expect(await status(recorded)).toBe(200);
    on.ahead += 7 * day;
    await forgetMessages();
    expect(await status(recorded)).toBe(200);
    expect(await on.inbox(main)).toEqual([]);
  });

  it("is accepted within the week in which Meta repeats it, if it was never accepted", async () => {
    const recorded = request();
    on.ahead += 7 * day;
    expect(await status(recorded)).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
  });
});

it("refuses a request of Slack outside of five minutes", async () => {
  const body = JSON.stringify(directMessage("hello"));
  for (const skew of [301, 86_400, -360])
    expect(await status(signSlack(secret, body, seconds() - skew)), `${skew}`).toBe(401);
  expect(await status(signSlack(secret, body, seconds()))).toBe(200);
});
