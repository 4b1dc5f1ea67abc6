import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { comparablePath } from "../../../../shared/workspace/workspace-paths.ts";

/** Whether a path is that of a file that describes a skill, however it is written. */
export function describesSkill(path: string): boolean {
  return /^skills\/[^/]+\/skill\.md$/.test(comparablePath(path));
}

/**
 * Refuses a skill that every prompt would list unconditionally (`always: true`): only a person may install one. The agent
 * would otherwise leave instructions for all later conversations, also those of other senders.
 * @param content the whole text of the file after the change
 * @throws PeerError 403
 */
export async function checkSkill(path: string, content: string): Promise<void> {
  if (!describesSkill(path)) return;
  // Imported lazily: a cold start without skills does not load the YAML parser.
  const { parseSkill } = await import("../../../../shared/skills/frontmatter.ts");
  if (!parseSkill(content).always) return;
  throw new PeerError(
    code.forbidden,
    `${path}: only a person can install or change a skill with always: true (\`gsv skills add\`); leave always out`,
  );
}
