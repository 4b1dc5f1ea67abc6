import type { Bucket, Table } from "../world/world.ts";
import type { Recall } from "./recall.ts";

/** Search, whose code is loaded when it is used first. */
export function loadRecall(store: { table: Table; bucket: Bucket }): () => Promise<Recall> {
  let opened: Promise<Recall> | undefined;
  return () => {
    opened ??= import("./recall.ts").then(({ openRecall }) => openRecall(store));
    return opened;
  };
}
