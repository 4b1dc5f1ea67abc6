import type { Configuration } from "../configuration/schema.ts";

/**
 * Whether an agent's workspace has a history, and whether the agent has tools for it. The agent's own settings override the
 * gateway's.
 */
export function gitSettings(
  { agents, workspaceGit }: Pick<Configuration, "agents" | "workspaceGit">,
  agentId: string,
): Configuration["workspaceGit"] {
  return { ...workspaceGit, ...agents.list.find(({ id }) => id === agentId)?.workspaceGit };
}
