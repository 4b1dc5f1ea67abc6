import { defaultAgentId } from "../../../../shared/session/key/routing.ts";
import { normalizeAgentId } from "../../../../shared/session/key/session-key.ts";
import { askAllNodes } from "../../../../shared/skills/probing.ts";
import { isSkillFile } from "../../../../shared/workspace/workspace-paths.ts";
import type { Gateway, MethodTable } from "../../gateway.ts";
import { writeTemplates } from "../../templates.ts";

/** The normalized agent id, or the default agent's id when undefined. */
export async function agentOf(
  { configuration }: Pick<Gateway, "configuration">,
  agentId: string | undefined,
): Promise<string> {
  if (agentId !== undefined) return normalizeAgentId(agentId);
  return defaultAgentId((await configuration.load()).agents.list);
}

export const workspaceMethods: Pick<
  MethodTable,
  "workspace.list" | "workspace.read" | "workspace.write" | "workspace.delete" | "agent.init"
> = {
  "workspace.list": {
    modes: ["client"],
    handle: async (gateway, { path, agentId }) =>
      gateway.workspace.list(await agentOf(gateway, agentId), path),
  },
  "workspace.read": {
    modes: ["client"],
    handle: async (gateway, { path, agentId }) =>
      gateway.workspace.read(await agentOf(gateway, agentId), path),
  },
  "workspace.write": {
    modes: ["client"],
    async handle(gateway, { path, content, agentId }) {
      const written = await gateway.workspace.write(await agentOf(gateway, agentId), path, content);
      if (isSkillFile(path)) await askAllNodes(gateway, gateway.skills);
      return written;
    },
  },
  "workspace.delete": {
    modes: ["client"],
    handle: async (gateway, { path, agentId }) =>
      gateway.workspace.delete(await agentOf(gateway, agentId), path),
  },
  "agent.init": {
    modes: ["client"],
    async handle(gateway, params) {
      const agentId = await agentOf(gateway, params.agentId);
      return { agentId, written: await writeTemplates(gateway.bucket, agentId) };
    },
  },
};
