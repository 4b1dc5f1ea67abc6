import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { parseIdentity } from "../../../shared/workspace/agent-identity.ts";
import { checkReadable } from "../../../shared/workspace/privacy.ts";
import { workspacePrefix } from "../../../shared/workspace/workspace-paths.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";

/** Characters of SOUL.md that are shown. */
const soulCharacters = 2048;

/** Bounds of what is shown of MEMORY.md: sections, bullets of a section, bytes of JSON in all. */
const sectionLimits = { usual: 20, most: 50 };
const bulletsShown = 10;
const maxBytes = 6144;

/**
 * Who the agent is, as its files say. What it has no file for is null.
 * @throws PeerError 403 in a conversation that others share: the model and the workspace are the owner's matter
 */
export async function whoAmI({ agent, turn }: ToolCallContext) {
  if (turn.audience === "shared")
    throw new PeerError(code.forbidden, "this is not told in a conversation that several people share");
  const { agentId, model } = turn;
  const [listing, identity, soul] = await Promise.all([
    agent.workspace.list(agentId, ""),
    read(agent, agentId, "IDENTITY.md"),
    read(agent, agentId, "SOUL.md"),
  ]);
  const {
    name = null,
    creature = null,
    vibe = null,
    emoji = null,
    avatar = null,
  } = parseIdentity(identity ?? "");
  return {
    agent_id: agentId,
    model: `${model.provider}/${model.id}`,
    workspace_dir: listing.files.length > 0 ? workspacePrefix(agentId) : null,
    identity: identity === undefined ? null : { name, creature, vibe, emoji, avatar },
    soul_excerpt: soul === undefined ? null : excerpt(soul),
  };
}

function excerpt(soul: string): string {
  const characters = [...soul];
  return characters.length <= soulCharacters ? soul : `${characters.slice(0, soulCharacters).join("")}…`;
}

/** A section of MEMORY.md as it is shown. `extra_bullets`: how many more it has. */
interface ShownSection {
  heading: string;
  bullets: string[];
  extra_bullets: number | null;
}

/**
 * What MEMORY.md holds, section by section, cut to what a model reads at once.
 * @param section only sections whose heading holds this, whatever the case
 * @throws PeerError 403 where MEMORY.md may not be read
 */
export async function whatDoIKnow(
  { section, limit = sectionLimits.usual }: { section?: string | undefined; limit?: number | undefined },
  { agent, turn }: ToolCallContext,
): Promise<{ sections: ShownSection[]; truncated: boolean }> {
  checkReadable(turn.audience, "MEMORY.md");
  const text = (await read(agent, turn.agentId, "MEMORY.md")) ?? "";
  const wanted = section?.toLowerCase() ?? "";
  const found = memorySections(text).filter(({ heading }) => heading.toLowerCase().includes(wanted));
  const most = Math.min(sectionLimits.most, Math.max(1, limit));
  const sections: ShownSection[] = [];
  for (const { heading, bullets } of found.slice(0, most)) {
    const extra = bullets.length - bulletsShown;
    const shown = {
      heading,
      bullets: bullets.slice(0, bulletsShown),
      extra_bullets: extra > 0 ? extra : null,
    };
    const size = Buffer.byteLength(JSON.stringify({ sections: [...sections, shown], truncated: false }));
    if (sections.length > 0 && size > maxBytes) break;
    sections.push(shown);
  }
  return { sections, truncated: sections.length < found.length };
}

/** Undefined when there is no such file. */
async function read(
  { workspace }: Pick<ToolCallContext["agent"], "workspace">,
  agentId: string,
  path: string,
): Promise<string | undefined> {
  try {
    return (await workspace.read(agentId, path)).content;
  } catch (error) {
    if (error instanceof PeerError && error.code === code.notFound) return undefined;
    throw error;
  }
}

/** A section of MEMORY.md: its heading, and its bullets without their signs. */
interface MemorySection {
  heading: string;
  bullets: string[];
}

/**
 * The sections of a MEMORY.md. `## ` opens one, `- ` and `* ` at the start of a line are its bullets. Bullets before the first
 * heading, sections without a heading and all other lines are left out.
 */
export function memorySections(text: string): MemorySection[] {
  const sections: MemorySection[] = [];
  let current: MemorySection | undefined;
  for (const line of text.split(/\r?\n/)) {
    const heading = /^## (.*)$/.exec(line)?.[1]?.trim();
    if (heading !== undefined) {
      current = heading === "" ? undefined : { heading, bullets: [] };
      if (current) sections.push(current);
      continue;
    }
    const bullet = /^[-*] (.*)$/.exec(line)?.[1]?.trim();
    if (bullet) current?.bullets.push(bullet);
  }
  return sections;
}
