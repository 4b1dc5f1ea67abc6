import type { Channels } from "./channel.ts";
import { createDiscord } from "./discord/discord.ts";
import { createSlack } from "./slack/slack.ts";
import { createTelegram } from "./telegram/telegram.ts";
import { createWhatsapp } from "./whatsapp/whatsapp.ts";

/** Every platform there is: one line each. */
export const channels: Channels = {
  telegram: createTelegram(),
  whatsapp: createWhatsapp(),
  slack: createSlack(),
  discord: createDiscord(),
};
