/** The agent of a session; empty, which is the default one, while only another name of the key is known. */
export function agentOf(sessionKey: string): string {
  const [kind, agent = ""] = sessionKey.split(":");
  return kind === "agent" ? agent : "";
}

/** The name of a session for its reader: its label, or its key without the agent. */
export function sessionName({ sessionKey, label }: { sessionKey: string; label?: string }): string {
  if (label) return label;
  const [kind, agent, ...rest] = sessionKey.split(":");
  return kind === "agent" && rest.length > 0
    ? rest.join(":")
    : [kind, agent, ...rest].filter(Boolean).join(":");
}
