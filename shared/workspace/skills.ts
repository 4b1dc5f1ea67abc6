import type { Bucket } from "../world/world.ts";
import { type CachedReader, createCachedReader } from "./cached-reader.ts";
import { workspacePrefix } from "./paths.ts";

/** What the prompt says of a skill. */
export interface ListedSkill {
  name: string;
  description: string;
  /** Key in the bucket. */
  location: string;
  /** Path under which the workspace's tools read it. */
  readPath: string;
  always: boolean;
}

/** A skill as it is stored; whether it can be used here is for `eligibility.ts` to say. */
export interface Skill extends ListedSkill {
  /** Name of its folder: what makes two skills the same one. */
  directory: string;
  homepage?: string;
  /** As written in the frontmatter, not yet checked. */
  requires: unknown;
  /** Why its frontmatter could not be read. */
  fault?: string;
}

export interface SkillLister {
  /**
   * The agent's own skills, then those all agents share whose folder's name is not among them; each by name
   * of folder.
   * @throws PeerError 400 for an agent id that is not normalized.
   */
  list(agentId: string): Promise<Skill[]>;
}

/**
 * Lists skills (docs/storage-layout.md, "Skills"). One listing a prefix tells which `SKILL.md` there are and
 * their ETags; only those that are new or changed are downloaded. Keep one lister as long as the process
 * lives.
 */
export function createSkillLister(bucket: Bucket): SkillLister {
  const reader = createCachedReader(bucket);
  return {
    async list(agentId) {
      const [own, shared] = await Promise.all([
        listUnder(bucket, reader, `${workspacePrefix(agentId)}skills/`),
        listUnder(bucket, reader, "skills/"),
      ]);
      const names = new Set(own.map((skill) => skill.directory));
      return [...own, ...shared.filter((skill) => !names.has(skill.directory))];
    },
  };
}

async function listUnder(bucket: Bucket, reader: CachedReader, prefix: string): Promise<Skill[]> {
  const { objects } = await bucket.list(prefix);
  const skills = await Promise.all(
    objects.map(async ({ key, etag }): Promise<Skill[]> => {
      const [directory, file, ...deeper] = key.slice(prefix.length).split("/");
      if (!directory || file !== "SKILL.md" || deeper.length > 0) return [];
      const source = await reader.readListed(key, etag);
      if (source === undefined) return []; // Deleted since it was listed.
      // Loaded where there is a skill: a cold start without one does not wait for a YAML parser.
      const { parseSkill } = await import("./frontmatter.ts");
      const { name = directory, description, homepage, always, requires, fault } = parseSkill(source);
      const readPath = `skills/${directory}/SKILL.md`;
      return [{ name, description, location: key, readPath, always, directory, homepage, requires, fault }];
    }),
  );
  return skills.flat();
}
