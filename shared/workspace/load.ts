import { joinOrigins } from "../origins/origins.ts";
import { addDays, localTime } from "../runtime/zoned-time.ts";
import type { Bucket } from "../world/world.ts";
import { createCachedReader } from "./cached-reader.ts";
import { asksForHeartbeat } from "./heartbeat-file.ts";
import { type Audience, isVisible } from "./privacy.ts";
import { dailyMemoryPath, promptFiles, workspacePrefix } from "./workspace-paths.ts";

/** The text of each prompt file; absent when the file does not exist or the audience must not see it. */
export interface WorkspaceFiles {
  soul?: string;
  identity?: string;
  user?: string;
  agents?: string;
  /** MEMORY.md. */
  memory?: string;
  /** `memory/{date}.md` of yesterday and today. */
  yesterday?: string;
  today?: string;
  tools?: string;
  /** Only when it has content: see `asksForHeartbeat`. */
  heartbeat?: string;
  bootstrap?: string;
}

export interface LoadRequest {
  agentId: string;
  audience: Audience;
  /** Epoch milliseconds. */
  now: number;
  /** IANA timezone; determines today's date. */
  timezone: string;
}

/** The prompt files, and whose words they contain, besides the owner's. */
interface LoadedFiles {
  files: WorkspaceFiles;
  origins: string[];
}

export interface WorkspaceLoader {
  /** @throws PeerError 400 for an agent id that is not normalized. */
  load(request: LoadRequest): Promise<LoadedFiles>;
}

export interface LoaderOptions {
  /** How long a cached file is used without revalidation, in milliseconds. Default 0: revalidate on every load. */
  maxAgeMs?: number;
}

/**
 * Loads the prompt files of a workspace (docs/reference/storage-layout.md, "Loading Order"), in parallel. The loader
 * caches files and downloads only changed ones, so create one per process. Files that the session's audience must not see
 * are never requested.
 */
export function createWorkspaceLoader(bucket: Bucket, options: LoaderOptions = {}): WorkspaceLoader {
  const reader = createCachedReader(bucket, options);
  return {
    async load(request) {
      const prefix = workspacePrefix(request.agentId);
      const files: WorkspaceFiles = {};
      const read = await Promise.all(
        filesFor(request).map(async ([name, path]) => {
          const text = await reader.read(prefix + path, request.now);
          if (text !== undefined) files[name] = text;
          return reader.originsOf(prefix + path);
        }),
      );
      if (files.heartbeat !== undefined && !asksForHeartbeat(files.heartbeat)) delete files.heartbeat;
      return { files, origins: joinOrigins(...read) };
    },
  };
}

function filesFor({ audience, now, timezone }: LoadRequest): [keyof WorkspaceFiles, string][] {
  const today = localTime(now, timezone).date;
  const days = { yesterday: dailyMemoryPath(addDays(today, -1)), today: dailyMemoryPath(today) };
  const paths = Object.entries({ ...promptFiles, ...days }) as [keyof WorkspaceFiles, string][];
  return paths.filter(([, path]) => isVisible(audience, path));
}

/** The files that the audience may see. */
export function seenFiles(files: WorkspaceFiles, audience: Audience): WorkspaceFiles {
  const folder = "memory";
  const places: Record<keyof WorkspaceFiles, string> = { ...promptFiles, yesterday: folder, today: folder };
  const seen = Object.entries(files).filter(([name]) =>
    isVisible(audience, places[name as keyof WorkspaceFiles]),
  );
  return Object.fromEntries(seen);
}
