import { addDays, localTime } from "../runtime/zoned-time.ts";
import type { Bucket } from "../world/world.ts";
import { createCachedReader } from "./cached-reader.ts";
import { asksForHeartbeat } from "./heartbeat-file.ts";
import { type Audience, seesDailyMemory, seesLongTermMemory, seesOwner } from "./privacy.ts";
import { dailyMemoryPath, promptFiles, workspacePrefix } from "./workspace-paths.ts";

/** The text of each prompt file; absent when the file does not exist or the audience must not see it. */
export interface WorkspaceFiles {
  soul?: string;
  identity?: string;
  /** USER.md; not in shared sessions. */
  user?: string;
  agents?: string;
  /** MEMORY.md; main sessions only. */
  memory?: string;
  /** `memory/{date}.md` of yesterday and today; not in shared sessions. */
  yesterday?: string;
  today?: string;
  tools?: string;
  /** Not in shared sessions, and only when it has content: see `asksForHeartbeat`. */
  heartbeat?: string;
  /** BOOTSTRAP.md; not in shared sessions. */
  bootstrap?: string;
}

export interface LoadRequest extends Audience {
  agentId: string;
  /** Epoch milliseconds. */
  now: number;
  /** IANA timezone that decides which day is today. */
  timezone: string;
}

export interface WorkspaceLoader {
  /** @throws PeerError 400 for an agent id that is not normalized. */
  load(request: LoadRequest): Promise<WorkspaceFiles>;
}

export interface LoaderOptions {
  /** Time for which a cached file is used without revalidation. Default 0: revalidate on every load. */
  maxAgeMs?: number;
}

/**
 * Loads the prompt files of a workspace (docs/storage-layout.md, "Loading Order"), in parallel. The loader
 * caches files, so keep one for the lifetime of the process: it downloads only changed files. Files that the
 * session's audience must not see are never requested.
 */
export function createWorkspaceLoader(bucket: Bucket, options: LoaderOptions = {}): WorkspaceLoader {
  const reader = createCachedReader(bucket, options);
  return {
    async load(request) {
      const prefix = workspacePrefix(request.agentId);
      const files: WorkspaceFiles = {};
      await Promise.all(
        filesFor(request).map(async ([name, path]) => {
          const text = await reader.read(prefix + path, request.now);
          if (text !== undefined) files[name] = text;
        }),
      );
      if (files.heartbeat !== undefined && !asksForHeartbeat(files.heartbeat)) delete files.heartbeat;
      return files;
    },
  };
}

function filesFor(request: LoadRequest): [keyof WorkspaceFiles, string][] {
  const { user, heartbeat, bootstrap, ...ofAll } = promptFiles;
  const files = Object.entries(ofAll) as [keyof WorkspaceFiles, string][];
  if (seesOwner(request)) files.push(["user", user], ["heartbeat", heartbeat], ["bootstrap", bootstrap]);
  if (seesLongTermMemory(request)) files.push(["memory", "MEMORY.md"]);
  if (seesDailyMemory(request)) {
    const today = localTime(request.now, request.timezone).date;
    files.push(["yesterday", dailyMemoryPath(addDays(today, -1))], ["today", dailyMemoryPath(today)]);
  }
  return files;
}
