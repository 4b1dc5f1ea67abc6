import { matchesPattern } from "../../../shared/configuration/pattern.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";

type Agents = Pick<Configuration, "agents">;

const settingsOf = ({ agents }: Agents, agentId: string) => agents.list.find(({ id }) => id === agentId);

/** Whether `agents.list[].tools` gives an agent a tool, by its full name: `gsv__Cron`, `laptop__Bash`. Denying takes precedence. */
export function mayUse(configuration: Agents, agentId: string, tool: string): boolean {
  const { allow = ["*"], deny = [] } = settingsOf(configuration, agentId)?.tools ?? {};
  const isIn = (patterns: readonly string[]) => patterns.some((pattern) => matchesPattern(pattern, tool));
  return isIn(allow) && !isIn(deny);
}

/**
 * An agent may address itself, and the agents that its `delegates` name; without this setting, every agent.
 * @throws PeerError 403 when it may not
 */
export function checkDelegate(configuration: Agents, agentId: string, other: string): void {
  const { delegates } = settingsOf(configuration, agentId) ?? {};
  if (other === agentId || delegates === undefined || delegates.includes(other)) return;
  throw new PeerError(
    code.forbidden,
    `${agentId} may not address the agent ${other}; its owner adds it to delegates in agents.list`,
  );
}
