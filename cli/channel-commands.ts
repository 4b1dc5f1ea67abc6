import type { CommandEntry } from "./program.ts";

const applicant = "<channel> <senderId>";

/** The commands about channels: who is let in. */
export const pairCommands: readonly CommandEntry[] = [
  {
    name: "list",
    summary: "who asks to be let in, and what they wrote",
    examples: ["pair list", "pair list --json"],
    load: async () => (await import("./commands/pair.ts")).listPairs,
  },
  {
    name: `approve ${applicant}`,
    summary: "let somebody in: they are added to allowFrom, and the message that waits is answered",
    examples: ["pair approve telegram 5001002003"],
    load: async () => (await import("./commands/pair.ts")).approvePair,
  },
  {
    name: `reject ${applicant}`,
    summary: "forget what somebody asked; if they write again, they ask again",
    examples: ["pair reject telegram 5001002003"],
    load: async () => (await import("./commands/pair.ts")).rejectPair,
  },
];
