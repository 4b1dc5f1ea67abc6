import { ed25519Key, signDiscord } from "../../support/platforms/discord/discord-signature.ts";
import type { SignedRequest } from "../../support/platforms/platform-server.ts";
import { signSlack } from "../../support/platforms/slack/slack-server.ts";
import { signMeta } from "../../support/platforms/whatsapp/whatsapp-server.ts";

const secret = "the-platforms_secret-0123456789abcdef";

/** A key from RFC 8032, section 7.1, test 1. */
const discordKey = ed25519Key("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
const discordPublicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

export const verifyToken = "verify-token-of-ours";

/** The configuration of the attacked channels: anybody may write, may ask for access, or must be on the list. */
export function platformAccounts(apiBaseUrl: string): Record<string, object> {
  const channel = (account: object, more: object) => ({
    ...more,
    accounts: { default: { ...account, apiBaseUrl }, off: { ...account, apiBaseUrl, enabled: false } },
  });
  return {
    telegram: channel(
      { botToken: "1:token", webhookSecret: secret },
      { dmPolicy: "open", requireMention: false },
    ),
    slack: channel({ botToken: "xoxb-token", signingSecret: secret }, { dmPolicy: "pairing" }),
    whatsapp: channel(
      { appSecret: secret, accessToken: "EAAJB", verifyToken, phoneNumberId: "106540352242922" },
      { dmPolicy: "allowlist", allowFrom: ["447700900999"] },
    ),
    discord: channel(
      { botToken: "token", applicationId: "198622483471925248", publicKey: discordPublicKey },
      { dmPolicy: "open" },
    ),
  };
}

/** Signs a body as each platform does, for a time in epoch seconds. */
export const signers: Record<string, (body: string, at: number, key?: string) => SignedRequest> = {
  telegram: (body, _at, key = secret) => ({
    method: "POST",
    path: "/telegram/default",
    headers: { "content-type": "application/json", "x-telegram-bot-api-secret-token": key },
    body,
  }),
  slack: (body, at, key = secret) => signSlack(key, body, at),
  whatsapp: (body, _at, key = secret) => signMeta(key, body),
  discord: (body, at, key) =>
    signDiscord(key === undefined ? discordKey : ed25519Key("4c".repeat(32)), body, String(at)),
};
