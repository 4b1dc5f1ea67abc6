/** What belongs to the victim, by name. No attacker has the word "keeper" unless it is named on purpose. */
export const victim = {
  agent: "keeper",
  session: "agent:keeper:main",
  node: "keeper-laptop",
  client: "keeper-desk",
  /** Texts that stand in the victim's conversation, file and secret, and that no attacker may receive. */
  said: "canary-said-5e1f0c",
  wrote: "canary-wrote-93b7aa",
  secret: "canary-secret-c04d77",
} as const;

/** The agent that attackers may use: the default agent. */
export const scratchAgent = "scratch";
