import type { Channels } from "./channel.ts";
import { createDiscord } from "./discord/discord.ts";
import { createSlack } from "./slack/slack.ts";
import { createTelegram } from "./telegram/telegram.ts";
import { createWhatsapp } from "./whatsapp/whatsapp.ts";

const builtIn = {
  telegram: createTelegram(),
  whatsapp: createWhatsapp(),
  slack: createSlack(),
  discord: createDiscord(),
} satisfies Channels;

/** A built-in platform. Tables over this type are total: a platform that they lack is a type error. */
export type ChannelName = keyof typeof builtIn;

/** All built-in platforms by name. */
export const channels: Channels = builtIn;
