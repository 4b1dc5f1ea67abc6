import { addDays, localTime } from "../runtime/zoned-time.ts";
import type { Bucket } from "../world/world.ts";
import { createCachedReader } from "./cached-reader.ts";
import { asksForHeartbeat } from "./heartbeat.ts";
import { dailyMemoryPath, promptFiles, workspacePrefix } from "./paths.ts";
import { type Audience, seesDailyMemory, seesLongTermMemory } from "./privacy.ts";

/** The text of each prompt file; absent where there is no such file, or this audience must not see it. */
export interface WorkspaceFiles {
  soul?: string;
  identity?: string;
  user?: string;
  agents?: string;
  /** MEMORY.md; main sessions only. */
  memory?: string;
  /** `memory/{date}.md` of the day before, and of the day; not in shared sessions. */
  yesterday?: string;
  today?: string;
  tools?: string;
  /** Only if it asks for something. */
  heartbeat?: string;
  bootstrap?: string;
}

export interface LoadRequest extends Audience {
  agentId: string;
  /** Epoch milliseconds. */
  now: number;
  /** IANA name of the timezone in which "today" is meant. */
  timezone: string;
}

export interface WorkspaceLoader {
  /** @throws PeerError 400 for an agent id that is not normalized. */
  load(request: LoadRequest): Promise<WorkspaceFiles>;
}

export interface LoaderOptions {
  /** For this long a file is taken as unchanged without asking. 0, the default: ask every time. */
  maxAgeMs?: number;
}

/**
 * Loads the prompt files of a workspace (docs/storage-layout.md, "Loading Order"), all at the same moment.
 * The loader remembers what it read, so keep one as long as the process lives: it then downloads only what
 * has changed. Files that the session's audience must not see are never requested.
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
  const files = Object.entries(promptFiles) as [keyof WorkspaceFiles, string][];
  if (seesLongTermMemory(request)) files.push(["memory", "MEMORY.md"]);
  if (seesDailyMemory(request)) {
    const today = localTime(request.now, request.timezone).date;
    files.push(["yesterday", dailyMemoryPath(addDays(today, -1))], ["today", dailyMemoryPath(today)]);
  }
  return files;
}
