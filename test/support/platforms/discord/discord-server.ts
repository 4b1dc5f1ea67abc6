import {
  callWebhook,
  type PlatformServer,
  type SignedRequest,
  startPlatformServer,
  type WebhookReply,
} from "../platform-server.ts";
import { answerApplication, type DiscordApplication } from "./discord-application.ts";
import { answerDiscord, type DiscordState, endCall, nextMessageId } from "./discord-methods.ts";
import { newKeys, signDiscord } from "./discord-signature.ts";

export interface DiscordServer extends PlatformServer, DiscordState {
  /** 32 bytes in hexadecimal. */
  publicKey: string;
  application: DiscordApplication;
  /** Signs an interaction as Discord does. */
  sign(interaction: object): SignedRequest;
  /**
   * Posts it to a webhook, by default `/discord/default`, and handles the answer as Discord does: afterwards the
   * interaction's token is valid.
   */
  deliver(webhookUrl: string, interaction: object, path?: string): Promise<WebhookReply>;
  /** Texts that users saw: the answers to interactions, then the bot's messages to channels. */
  shown(): string[];
}

/** Discord's interactions and its REST API on 127.0.0.1 (reference: https://docs.discord.com/developers). */
export async function startDiscordServer(): Promise<DiscordServer> {
  const state: DiscordState = {
    botToken: "MTk4NjIyNDgzNDcxOTI1MjQ4.testTokenOfABot",
    applicationId: "198622483471925248",
    interactions: new Map(),
    messages: [],
    gateway: { url: "", written: [], channels: new Map(), nextId: nextMessageId },
    nonces: new Map(),
    asked: [],
    told: [],
    typing: [],
    reactions: new Set(),
    closed: new Set(),
    files: new Map(),
    uploads: [],
  };
  const keys = newKeys();
  const { botToken, applicationId } = state;
  const application: DiscordApplication = { ...keys, botToken, applicationId, endpoint: null, commands: [] };
  const server = await startPlatformServer(
    async (call) => (await answerApplication(call, application)) ?? answerDiscord(call, state),
  );
  const sign: DiscordServer["sign"] = (interaction) =>
    signDiscord(keys.privateKey, JSON.stringify(interaction), String(Math.floor(Date.now() / 1000)));
  return {
    ...server,
    ...state,
    publicKey: keys.publicKey,
    application,
    sign,
    shown: () =>
      [...state.interactions.values()]
        .flatMap(({ original, followups }) => [original, ...followups])
        .concat(state.messages)
        .map(({ content }) => content)
        .filter((content) => content !== ""),
    async deliver(webhookUrl, interaction, path = "/discord/default") {
      const reply = await callWebhook(webhookUrl, { ...sign(interaction), path });
      endCall(state, interaction, reply);
      return reply;
    },
  };
}
