import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { isSkillFile } from "../../../../shared/workspace/workspace-paths.ts";

/**
 * A check that refuses a skill that every prompt would list unconditionally (`always: true`): only a person may install one.
 * The agent would otherwise leave instructions for all later conversations, also those of other senders.
 * @param path of the file whose content after a change is checked
 * @returns a function that throws PeerError 403 for a content
 */
export async function skillCheck(path: string): Promise<(content: string) => void> {
  if (!isSkillFile(path)) return () => {};
  // Imported lazily: a cold start without skills does not load the YAML parser.
  const { parseSkill } = await import("../../../../shared/skills/frontmatter.ts");
  return (content) => {
    if (!parseSkill(content).always) return;
    throw new PeerError(
      code.forbidden,
      `${path}: only a person can install or change a skill with always: true (\`gsv skills add\`); leave always out`,
    );
  };
}
