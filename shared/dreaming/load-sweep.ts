import { loadMemories } from "../memory/load-memories.ts";
import { openWorkspace } from "../workspace/workspace-files.ts";
import type { World } from "../world/world.ts";
import type { DreamRun, SweepOutcome } from "./dream-sweep.ts";

/** The sweep of memories; its code is loaded on first use. */
export function loadSweep({ table, bucket, schedules }: Pick<World, "table" | "bucket" | "schedules">) {
  const workspace = openWorkspace(bucket);
  const { memories } = loadMemories({ table, bucket, workspace });
  return async (run: DreamRun): Promise<SweepOutcome | undefined> => {
    const { sweepMemories } = await import("./dream-sweep.ts");
    return sweepMemories({ table, bucket, schedules, workspace, memories: await memories() }, run);
  };
}
