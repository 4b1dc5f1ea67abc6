import { LRUCache } from "lru-cache";
import { createSkillLister, type Skill } from "../../../shared/skills/skill-lister.ts";
import {
  createWorkspaceLoader,
  type LoadRequest,
  type WorkspaceFiles,
} from "../../../shared/workspace/load.ts";
import type { Bucket } from "../../../shared/world/world.ts";

/** A warm function sees a change of the workspace after this time at the latest. Milliseconds. */
const maxAgeMs = 5000;

/** The same for the list of skills. It costs more to read: two listings, each at the price of a dozen files. */
const skillsMaxAgeMs = 30_000;

/** Bound of each cache: agents, or agents and audiences. */
const maxKept = 100;

/** The parts of a prompt that come from the bucket. Do not change them. */
export interface PromptParts {
  files: WorkspaceFiles;
  skills: Skill[];
}

/** Reads the parts of prompts. Downloads only objects that have changed, and sends no request at all for some seconds. */
export interface PromptSource {
  load(request: LoadRequest): Promise<PromptParts>;
  /** The bucket for this function's writes: the next prompt shows them. */
  bucket: Bucket;
}

export function createPromptSource(bucket: Bucket): PromptSource {
  const loader = createWorkspaceLoader(bucket);
  const lister = createSkillLister(bucket);
  const parts = cacheReads<PromptParts>(maxAgeMs);
  const skillLists = cacheReads<Skill[]>(skillsMaxAgeMs);
  const read = async (request: LoadRequest): Promise<PromptParts> => {
    const { agentId, now } = request;
    const listed = skillLists.read(agentId, now, () => lister.list(agentId));
    const [files, skills] = await Promise.all([loader.load(request), listed]);
    return { files, skills };
  };
  const forgetting = async <T>(write: Promise<T>): Promise<T> => {
    try {
      return await write;
    } finally {
      parts.clear();
      skillLists.clear();
    }
  };
  return {
    load(request) {
      const { agentId, mainSession, shared, now, timezone } = request;
      const name = `${agentId} ${mainSession} ${shared} ${timezone}`;
      return parts.read(name, now, () => read(request));
    },
    bucket: {
      ...bucket,
      put: (...args) => forgetting(bucket.put(...args)),
      delete: (...args) => forgetting(bucket.delete(...args)),
    },
  };
}

/** Caches what `read` resolves to for `ageMs`, also while it is still being read. A failure is not cached. */
function cacheReads<Value>(ageMs: number) {
  const kept = new LRUCache<string, { value: Promise<Value>; readAt: number }>({ max: maxKept });
  return {
    /** @param now epoch milliseconds */
    read(name: string, now: number, read: () => Promise<Value>): Promise<Value> {
      const known = kept.get(name);
      if (known && now - known.readAt < ageMs) return known.value;
      const value = read();
      kept.set(name, { value, readAt: now });
      value.catch(() => kept.delete(name));
      return value;
    },
    clear: () => kept.clear(),
  };
}
