import type { Configuration } from "../configuration/schema.ts";

/** Whether the history of an agent's workspace is kept, and whether the agent has tools for it: its own settings over the default. */
export function gitSettings({ agents }: Pick<Configuration, "agents">, agentId: string) {
  return { ...agents.defaultWorkspaceGit, ...agents.list.find(({ id }) => id === agentId)?.workspaceGit };
}
