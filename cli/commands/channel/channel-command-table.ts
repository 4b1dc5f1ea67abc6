import type { CommandEntry } from "../../app/program.ts";

const applicant = "<channel> <senderId>";

const account = "<channel> [account]";

/** The commands about accounts on messaging platforms. */
const channelCommands: readonly CommandEntry[] = [
  {
    name: `add ${account}`,
    summary: "connect your bot or number: asks for its settings, checks them, and registers the webhook",
    options: [
      ["--from <file>", "settings and secrets as a JSON object, from a file or standard input (-)"],
      ["--policy <policy>", "who may write: pairing, allowlist or open"],
      ["--allow <ids>", "sender ids that may write as guests, separated by commas"],
      ["--owner <ids>", "your own sender ids, separated by commas"],
    ],
    examples: [
      "channel add telegram",
      "channel add slack work --policy allowlist --owner U061F7AUR",
      `printf '{"botToken":"…"}' | gsv channel add telegram --from - --policy pairing`,
    ],
    load: async () => (await import("./channel-add.ts")).addChannel,
  },
  {
    name: "list",
    summary: "accounts, and the time of their last message",
    examples: ["channel list"],
    load: async () => (await import("./channel-commands.ts")).listChannels,
  },
  {
    name: "status [channel] [account]",
    summary: "check accounts at their platforms: credentials, webhook, last error",
    examples: ["channel status", "channel status whatsapp"],
    load: async () => (await import("./channel-commands.ts")).showStatus,
  },
  {
    name: "test <channel> <peer>",
    summary: "send a test message",
    options: [
      ["--account <id>", "account to send from (default: default)"],
      ["--kind <kind>", "kind of the peer: dm (default), group, channel or thread"],
      ["--text <text>", "text of the message"],
    ],
    examples: ["channel test telegram 5001002003", "channel test slack C0LAN2Q65 --kind channel"],
    load: async () => (await import("./channel-commands.ts")).testChannel,
  },
  {
    name: `start ${account}`,
    summary: "start a stopped account and register its webhook again",
    examples: ["channel start telegram"],
    load: async () => (await import("./channel-commands.ts")).startChannel,
  },
  {
    name: `stop ${account}`,
    summary: "stop receiving and sending; messages that arrive meanwhile are lost",
    examples: ["channel stop telegram"],
    load: async () => (await import("./channel-commands.ts")).stopChannel,
  },
  {
    name: `remove ${account}`,
    summary: "delete an account and its secrets",
    options: [["--yes", "do not ask"]],
    examples: ["channel remove telegram --yes"],
    load: async () => (await import("./channel-commands.ts")).removeChannel,
  },
];

/** The commands that approve and reject senders. */
const pairCommands: readonly CommandEntry[] = [
  {
    name: "list",
    summary: "pending pairing requests: sender and message",
    examples: ["pair list", "pair list --json"],
    load: async () => (await import("./pair-commands.ts")).listPairs,
  },
  {
    name: `approve ${applicant}`,
    summary: "let a sender in, as a guest or as an owner, and answer the waiting message",
    options: [["--owner", "the sender is you: may use your machines and your main conversation"]],
    examples: ["pair approve telegram 5001002003", "pair approve telegram 5001002003 --owner"],
    load: async () => (await import("./pair-commands.ts")).approvePair,
  },
  {
    name: `reject ${applicant}`,
    summary: "delete a sender's pairing request; the next message creates a new one",
    examples: ["pair reject telegram 5001002003"],
    load: async () => (await import("./pair-commands.ts")).rejectPair,
  },
];

/** `gsv channel …` */
export const channelCommand: CommandEntry = {
  name: "channel [channel] [action] [account]",
  summary: "messaging platforms of the agent: Telegram, WhatsApp, Slack, Discord",
  examples: ["channel add telegram", "channel status", "channel telegram status"],
  load: async () => (await import("./channel-commands.ts")).channelFirst,
  commands: channelCommands,
};

/** `gsv pair …` */
export const pairCommand: CommandEntry = {
  name: "pair",
  summary: "requests of unknown senders to write to the agent: list, approve, reject",
  examples: ["pair list", "pair approve telegram 5001002003"],
  commands: pairCommands,
};
