import type { Channels } from "./channel.ts";
import { createDiscord } from "./discord/discord.ts";
import { createSlack } from "./slack/slack.ts";
import { createTelegram } from "./telegram/telegram.ts";
import { createWhatsapp } from "./whatsapp/whatsapp.ts";

/** All built-in platforms by name. */
export const channels: Channels = {
  telegram: createTelegram(),
  whatsapp: createWhatsapp(),
  slack: createSlack(),
  discord: createDiscord(),
};
