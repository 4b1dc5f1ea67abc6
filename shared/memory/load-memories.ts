import { createSegments } from "../recall/segments.ts";
import type { Workspace } from "../workspace/workspace-files.ts";
import type { Bucket, Table } from "../world/world.ts";
import type { Memories } from "./memories.ts";

/** The memories of agents; their code is loaded on first use. */
export function loadMemories(
  store: { table: Table; bucket: Bucket; workspace: Workspace },
  segments = createSegments(store.bucket),
): () => Promise<Memories> {
  let opened: Promise<Memories> | undefined;
  return () => {
    opened ??= import("./memories.ts").then(({ openMemories }) => openMemories(store, segments));
    return opened;
  };
}
