import { homedir } from "node:os";
import type { ServiceKind } from "../daemon/service-commands.ts";
import { bridgeSettings } from "./discord-settings.ts";

/** The Discord bridge as a service: `gsv bridge discord install`, … */
export const discordService: ServiceKind = {
  id: "discord",
  title: "the Discord bridge",
  summary: "gsv bridge: brings a Discord bot's messages to the agent",
  command: "gsv bridge discord",
  words: ["bridge", "discord"],
  async prepare(context, options) {
    const { url, token, accountId, botToken, apiUrl, readsRooms } = await bridgeSettings(context, options);
    const rooms = readsRooms ? "on" : "off";
    return {
      config: {
        gateway: { url, token },
        discord: { account: accountId, bot_token: botToken, api_url: apiUrl, rooms },
      },
      folder: context.terminal.env.HOME || homedir(),
      result: { channel: "discord", accountId, url },
      effect: `it brings the messages of discord/${accountId} to ${url}`,
    };
  },
  facts: async (_context, { discord }) => ({
    result: { channel: "discord", accountId: discord?.account },
    place: [["account", discord?.account]],
  }),
};
