import { joinOrigins } from "../../../shared/origins/origins.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { FileContent } from "../../../shared/protocol/file-results.ts";
import { parseIdentity } from "../../../shared/workspace/agent-identity.ts";
import { checkReadable } from "../../../shared/workspace/privacy.ts";
import { workspacePrefix } from "../../../shared/workspace/workspace-paths.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";

/** Max characters of SOUL.md in an answer. */
const soulCharacters = 2048;

/** Bounds of an answer about MEMORY.md: sections, bullets per section, bytes of JSON in all. */
const sectionLimits = { usual: 20, max: 50 };
const maxBullets = 10;
const maxBytes = 6144;

/**
 * The agent's identity from its files, null for a missing file; and whose words these contain, besides the owner's.
 * @throws PeerError 403 in a shared conversation: only the owner may see the model and the workspace
 */
export async function whoAmI({ agent, turn }: ToolCallContext) {
  if (turn.audience === "shared")
    throw new PeerError(
      code.forbidden,
      "several people read this conversation, and only the owner may see this",
    );
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
  } = parseIdentity(identity?.content ?? "");
  const result = {
    agent_id: agentId,
    model: `${model.provider}/${model.id}`,
    workspace_dir: listing.files.length > 0 ? workspacePrefix(agentId) : null,
    identity: identity === undefined ? null : { name, creature, vibe, emoji, avatar },
    soul_excerpt: soul === undefined ? null : excerpt(soul.content),
  };
  return { result, origins: joinOrigins(identity?.origins, soul?.origins) };
}

function excerpt(soul: string): string {
  const characters = [...soul];
  return characters.length <= soulCharacters ? soul : `${characters.slice(0, soulCharacters).join("")}…`;
}

/** A section of MEMORY.md in an answer. `extra_bullets`: the number of omitted bullets. */
interface ShownSection {
  heading: string;
  bullets: string[];
  extra_bullets: number | null;
}

/**
 * The sections of MEMORY.md, limited in number and size, and whose words it contains, besides the owner's.
 * @param section only sections whose heading contains this; case does not matter
 * @throws PeerError 403 if this conversation may not read MEMORY.md
 */
export async function whatDoIKnow(
  { section, limit = sectionLimits.usual }: { section?: string | undefined; limit?: number | undefined },
  { agent, turn }: ToolCallContext,
): Promise<{ result: { sections: ShownSection[]; truncated: boolean }; origins: string[] }> {
  checkReadable(turn.audience, "MEMORY.md");
  const { content: text = "", origins = [] } = (await read(agent, turn.agentId, "MEMORY.md")) ?? {};
  const wanted = section?.toLowerCase() ?? "";
  const found = memorySections(text).filter(({ heading }) => heading.toLowerCase().includes(wanted));
  const max = Math.min(sectionLimits.max, Math.max(1, limit));
  const sections: ShownSection[] = [];
  for (const { heading, bullets } of found.slice(0, max)) {
    const extra = bullets.length - maxBullets;
    const shown = {
      heading,
      bullets: bullets.slice(0, maxBullets),
      extra_bullets: extra > 0 ? extra : null,
    };
    const size = Buffer.byteLength(JSON.stringify({ sections: [...sections, shown], truncated: false }));
    if (sections.length > 0 && size > maxBytes) break;
    sections.push(shown);
  }
  return { result: { sections, truncated: sections.length < found.length }, origins };
}

/** Undefined when there is no such file. */
async function read(
  { workspace }: Pick<ToolCallContext["agent"], "workspace">,
  agentId: string,
  path: string,
): Promise<FileContent | undefined> {
  try {
    return await workspace.read(agentId, path);
  } catch (error) {
    if (error instanceof PeerError && error.code === code.notFound) return undefined;
    throw error;
  }
}

/** A section of MEMORY.md: its heading, and its bullets without the bullet characters. */
interface MemorySection {
  heading: string;
  bullets: string[];
}

/**
 * The sections of a MEMORY.md. `## ` starts one, `- ` and `* ` at the start of a line are its bullets. Bullets before the first
 * heading, sections without a heading and all other lines are omitted.
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
