import type { CommandEntry } from "../../app/program.ts";
import { serviceEntries, unattendedOption } from "../daemon/service-entries.ts";

const options: NonNullable<CommandEntry["options"]> = [
  ["--account <name>", "account of the channel discord (default: default)"],
  [
    "--bot-token-file <file>",
    "file with the bot's token, - for standard input (else GSV_DISCORD_BOT_TOKEN, the config file, or a question)",
  ],
  [
    "--rooms",
    "also read room messages that do not mention the bot, which then needs Discord's Message Content Intent",
  ],
];

/** `gsv bridge …` */
export const bridgeCommand: CommandEntry = {
  name: "bridge",
  summary: "connect a messenger that needs a permanent connection",
  examples: ["bridge discord"],
  commands: [
    {
      name: "discord",
      summary: "bring a Discord bot's messages to the agent, and its answers back, until Ctrl-C",
      options: [...options, unattendedOption],
      examples: ["bridge discord", "bridge discord --bot-token-file ~/bot-token --rooms"],
      load: async () => (await import("./discord-command.ts")).bridgeDiscord,
      commands: serviceEntries(
        {
          words: "bridge discord",
          title: "the Discord bridge",
          options,
          installed: ["bridge discord install", "bridge discord install --bot-token-file -"],
        },
        async () => (await import("./supervised-discord.ts")).discordService,
      ),
    },
  ],
};
