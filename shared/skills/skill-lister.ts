import type { Origins } from "../origins/origins.ts";
import { type CachedReader, cacheReads, createCachedReader } from "../workspace/cached-reader.ts";
import { workspacePrefix } from "../workspace/workspace-paths.ts";
import type { Bucket } from "../world/world.ts";
import { contentsOf, type SkillContents } from "./skill-contents.ts";

/** A skill as listed in the prompt. */
export interface ListedSkill {
  name: string;
  description: string;
  /** Key in the bucket. */
  location: string;
  /** Path under which the workspace's tools read it. */
  readPath: string;
  always: boolean;
  /** The folder that has its files on these machines. */
  mirror?: { folder: string; machines: string[] };
}

/** A stored skill. `eligibility.ts` decides whether it can be used. */
export interface Skill extends ListedSkill {
  /** Name of its folder, which identifies the skill. */
  directory: string;
  /** Whose words its file contains, besides the owner's. */
  origins?: Origins;
  homepage?: string;
  /** Its files, if it has more than its SKILL.md and machines may mirror them. */
  contents?: SkillContents;
  /** From the frontmatter, not validated. */
  requires: unknown;
  /** The parse error of its frontmatter, if any. */
  fault?: string;
}

/** How long a listing of a folder is cached, in milliseconds. A listing costs as much as reading a dozen files. */
const maxAgeMs = 30_000;

export interface SkillLister {
  /**
   * The agent's own skills, then the shared skills whose folder name the agent does not have; each sorted by
   * folder name. A change is visible within 30 seconds.
   * @param now epoch milliseconds
   * @throws PeerError 400 for an agent id that is not normalized.
   */
  list(agentId: string, now: number): Promise<Skill[]>;
  /** Clears the cache, so that the next lists include every change. */
  forget(): void;
}

/**
 * Lists skills (docs/reference/storage-layout.md, "Skills"). One listing for each prefix gives the `SKILL.md` files
 * with their ETags; only new or changed files are downloaded. Create one lister per process.
 */
export function createSkillLister(bucket: Bucket): SkillLister {
  const reader = createCachedReader(bucket);
  const listings = cacheReads<Skill[]>(maxAgeMs);
  const listed = (prefix: string, now: number) =>
    listings.read(prefix, now, () => listUnder(bucket, reader, prefix));
  return {
    async list(agentId, now) {
      const [own, shared] = await Promise.all([
        listed(`${workspacePrefix(agentId)}skills/`, now),
        listed("skills/", now),
      ]);
      const names = new Set(own.map((skill) => skill.directory));
      return [...own, ...shared.filter((skill) => !names.has(skill.directory))];
    },
    forget: () => listings.clear(),
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
      // Imported lazily: a cold start without skills does not load the YAML parser.
      const { parseSkill } = await import("./frontmatter.ts");
      const { name = directory, description, homepage, always, requires, fault } = parseSkill(source);
      const readPath = `skills/${directory}/SKILL.md`;
      const contents = contentsOf(objects, `${prefix}${directory}/`);
      const found = {
        ...(contents ? { contents } : {}),
        name,
        description,
        location: key,
        readPath,
        always,
        directory,
        homepage,
        requires,
        fault,
      };
      const origins = reader.originsOf(key);
      return [origins.length === 0 ? found : { ...found, origins }];
    }),
  );
  return skills.flat();
}
