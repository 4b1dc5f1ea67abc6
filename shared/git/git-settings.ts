import type { Configuration } from "../configuration/schema.ts";

/**
 * Whether the history of an agent's workspace is kept, and whether the agent has tools for it: the agent's own settings over
 * the gateway's.
 */
export function gitSettings(
  { agents, workspaceGit }: Pick<Configuration, "agents" | "workspaceGit">,
  agentId: string,
): Configuration["workspaceGit"] {
  return { ...workspaceGit, ...agents.list.find(({ id }) => id === agentId)?.workspaceGit };
}
