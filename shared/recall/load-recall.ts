import type { Bucket, Table } from "../world/world.ts";
import type { Recall } from "./recall.ts";
import { createSegments } from "./segments.ts";

/** Search; its code is loaded on first use. */
export function loadRecall(
  store: { table: Table; bucket: Bucket },
  segments = createSegments(store.bucket),
): () => Promise<Recall> {
  let opened: Promise<Recall> | undefined;
  return () => {
    opened ??= import("./recall.ts").then(({ openRecall }) => openRecall(store, segments));
    return opened;
  };
}
