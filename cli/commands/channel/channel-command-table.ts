import type { CommandEntry } from "../../app/program.ts";

const applicant = "<channel> <senderId>";

const account = "<channel> [account]";

/** The commands about accounts on messaging platforms. */
export const channelCommands: readonly CommandEntry[] = [
  {
    name: `add ${account}`,
    summary:
      "connect a bot or number of yours: asks for what is needed, checks it, and registers the webhook",
    options: [
      ["--from <file>", "settings and secrets as a JSON object, from a file or standard input (-)"],
      ["--policy <policy>", "who may write: pairing, allowlist or open"],
      ["--allow <ids>", "sender ids that may write, with commas between"],
    ],
    examples: [
      "channel add telegram",
      "channel add slack work --policy allowlist --allow U061F7AUR",
      `printf '{"botToken":"…"}' | gsv channel add telegram --from - --policy pairing`,
    ],
    load: async () => (await import("./channel-add.ts")).addChannel,
  },
  {
    name: "list",
    summary: "accounts, and when they last brought a message",
    examples: ["channel list"],
    load: async () => (await import("./channel-commands.ts")).listChannels,
  },
  {
    name: "status [channel] [account]",
    summary: "ask the platforms how accounts do: credentials, webhook, last error",
    examples: ["channel status", "channel status whatsapp"],
    load: async () => (await import("./channel-commands.ts")).showStatus,
  },
  {
    name: "test <channel> <peer>",
    summary: "send one message to somebody",
    options: [
      ["--account <id>", "account to send from (default: default)"],
      ["--kind <kind>", "what the peer is: dm (default), group, channel or thread"],
      ["--text <text>", "what to say"],
    ],
    examples: ["channel test telegram 5001002003", "channel test slack C0LAN2Q65 --kind channel"],
    load: async () => (await import("./channel-commands.ts")).testChannel,
  },
  {
    name: `start ${account}`,
    summary: "start an account that was stopped, and register its webhook again",
    examples: ["channel start telegram"],
    load: async () => (await import("./channel-commands.ts")).startChannel,
  },
  {
    name: `stop ${account}`,
    summary: "take nothing in and send nothing; what is said meanwhile is gone",
    examples: ["channel stop telegram"],
    load: async () => (await import("./channel-commands.ts")).stopChannel,
  },
  {
    name: `remove ${account}`,
    summary: "forget an account, its secrets included",
    options: [["--yes", "do not ask"]],
    examples: ["channel remove telegram --yes"],
    load: async () => (await import("./channel-commands.ts")).removeChannel,
  },
];

/** The commands about who is let in. */
export const pairCommands: readonly CommandEntry[] = [
  {
    name: "list",
    summary: "who asks to be let in, and what they wrote",
    examples: ["pair list", "pair list --json"],
    load: async () => (await import("./pair-commands.ts")).listPairs,
  },
  {
    name: `approve ${applicant}`,
    summary: "let somebody in: they are added to allowFrom, and the message that waits is answered",
    examples: ["pair approve telegram 5001002003"],
    load: async () => (await import("./pair-commands.ts")).approvePair,
  },
  {
    name: `reject ${applicant}`,
    summary: "forget what somebody asked; if they write again, they ask again",
    examples: ["pair reject telegram 5001002003"],
    load: async () => (await import("./pair-commands.ts")).rejectPair,
  },
];
