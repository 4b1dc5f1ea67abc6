import type { Recall } from "../recall/recall.ts";
import { createSegments } from "../recall/segments.ts";
import type { Workspace } from "../workspace/workspace-files.ts";
import type { Bucket, Table } from "../world/world.ts";
import type { Memories } from "./memories.ts";

/** Memories and search over the same segments; their code is loaded on first use. */
export function loadMemories(
  store: { table: Table; bucket: Bucket; workspace: Workspace },
  segments = createSegments(store.bucket),
): { memories: () => Promise<Memories>; recall: () => Promise<Recall> } {
  let memories: Promise<Memories> | undefined;
  let recall: Promise<Recall> | undefined;
  return {
    memories: () =>
      (memories ??= import("./memories.ts").then(({ openMemories }) => openMemories(store, segments))),
    recall: () =>
      (recall ??= import("../recall/recall.ts").then(({ openRecall }) => openRecall(store, segments))),
  };
}
