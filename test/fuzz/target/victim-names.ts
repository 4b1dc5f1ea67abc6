/** Names of the victim's things. An attacker's case contains the word "keeper" only on purpose. */
export const victim = {
  agent: "keeper",
  session: "agent:keeper:main",
  node: "keeper-laptop",
  client: "keeper-desk",
  /** Texts in the victim's conversation, file and secret that no attacker may receive. */
  said: "canary-said-5e1f0c",
  wrote: "canary-wrote-93b7aa",
  secret: "canary-secret-c04d77",
} as const;

/** The attackers' agent, which is the default agent. */
export const scratchAgent = "scratch";
