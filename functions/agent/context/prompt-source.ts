import {
  createWorkspaceLoader,
  type LoadRequest,
  type WorkspaceFiles,
} from "../../../shared/workspace/load.ts";
import { createSkillLister, type Skill } from "../../../shared/workspace/skills.ts";
import type { Bucket } from "../../../shared/world/world.ts";

/** How long a warm function takes the workspace as unchanged, in milliseconds: the longest that a change goes unseen. */
const maxAgeMs = 5000;

/** The same for the list of skills, which is dearer to ask for: two listings, each the price of a dozen files. */
const skillsMaxAgeMs = 30_000;

/** Agents and audiences that are kept; past this the cache starts over. */
const maxKept = 100;

/** What a prompt takes from the bucket. Not to be changed. */
export interface PromptParts {
  files: WorkspaceFiles;
  skills: Skill[];
}

/** Reads what prompts are made of. What has not changed is not downloaded again, and for some seconds not asked for. */
export interface PromptSource {
  load(request: LoadRequest): Promise<PromptParts>;
  /** The bucket for whatever writes: after a write of this function's own, the next prompt shows it. */
  bucket: Bucket;
}

export function createPromptSource(bucket: Bucket): PromptSource {
  const loader = createWorkspaceLoader(bucket);
  const lister = createSkillLister(bucket);
  const kept = new Map<string, { parts: Promise<PromptParts>; readAt: number }>();
  const listed = new Map<string, { skills: Promise<Skill[]>; readAt: number }>();
  const skillsOf = ({ agentId, now }: LoadRequest): Promise<Skill[]> => {
    const known = listed.get(agentId);
    if (known && now - known.readAt < skillsMaxAgeMs) return known.skills;
    if (listed.size >= maxKept) listed.clear();
    const skills = lister.list(agentId);
    listed.set(agentId, { skills, readAt: now });
    skills.catch(() => listed.delete(agentId));
    return skills;
  };
  const read = async (request: LoadRequest): Promise<PromptParts> => {
    const [files, skills] = await Promise.all([loader.load(request), skillsOf(request)]);
    return { files, skills };
  };
  const forgetting = async <T>(write: Promise<T>): Promise<T> => {
    try {
      return await write;
    } finally {
      kept.clear();
      listed.clear();
    }
  };
  return {
    load(request) {
      const { agentId, mainSession, shared, now, timezone } = request;
      const name = `${agentId} ${mainSession} ${shared} ${timezone}`;
      const known = kept.get(name);
      if (known && now - known.readAt < maxAgeMs) return known.parts;
      if (kept.size >= maxKept) kept.clear();
      const parts = read(request);
      kept.set(name, { parts, readAt: now });
      parts.catch(() => kept.delete(name));
      return parts;
    },
    bucket: {
      ...bucket,
      put: (...args) => forgetting(bucket.put(...args)),
      delete: (...args) => forgetting(bucket.delete(...args)),
    },
  };
}
