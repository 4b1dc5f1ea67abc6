import { isTextKey } from "../../../shared/objects/text-store.ts";
import type { Origins } from "../../../shared/origins/origins.ts";
import { createSkillLister, type Skill } from "../../../shared/skills/skill-lister.ts";
import { cacheReads } from "../../../shared/workspace/cached-reader.ts";
import {
  createWorkspaceLoader,
  type LoadRequest,
  type WorkspaceFiles,
} from "../../../shared/workspace/load.ts";
import type { Bucket } from "../../../shared/world/world.ts";

/** Max age of cached workspace files. A warm function sees a change within this time. Milliseconds. */
const maxAgeMs = 5000;

/** The parts of a prompt that come from the bucket. Do not mutate them. */
export interface PromptParts {
  files: WorkspaceFiles;
  /** Whose words the files contain, besides the owner's. */
  origins: Origins;
  skills: Skill[];
}

/** Reads the parts of prompts. Downloads only changed objects, and sends no request within `maxAgeMs` of the last read. */
export interface PromptSource {
  load(request: LoadRequest): Promise<PromptParts>;
  /** The bucket that this function has to write through, so that the next prompt includes its writes. */
  bucket: Bucket;
}

export function createPromptSource(bucket: Bucket): PromptSource {
  const loader = createWorkspaceLoader(bucket);
  const lister = createSkillLister(bucket);
  const parts = cacheReads<PromptParts>(maxAgeMs);
  const read = async (request: LoadRequest): Promise<PromptParts> => {
    const [loaded, skills] = await Promise.all([
      loader.load(request),
      lister.list(request.agentId, request.now),
    ]);
    return { ...loaded, skills };
  };
  const forgetting = async <T>(write: Promise<T>): Promise<T> => {
    try {
      return await write;
    } finally {
      parts.clear();
      lister.forget();
    }
  };
  return {
    load(request) {
      const { agentId, audience, now, timezone } = request;
      const name = `${agentId} ${audience} ${timezone}`;
      return parts.read(name, now, () => read(request));
    },
    bucket: {
      ...bucket,
      // Texts of objects are not part of prompts.
      put: (key, ...args) =>
        isTextKey(key) ? bucket.put(key, ...args) : forgetting(bucket.put(key, ...args)),
      delete: (...args) => forgetting(bucket.delete(...args)),
    },
  };
}
