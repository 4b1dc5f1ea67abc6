import type { Bucket, Table } from "../world/world.ts";
import type { Recall } from "./recall.ts";
import type { EmbedderOptions } from "./vectors/embedder.ts";

/** Search; its code is loaded on first use. */
export function loadRecall(store: { table: Table; bucket: Bucket } & EmbedderOptions): () => Promise<Recall> {
  let opened: Promise<Recall> | undefined;
  return () => {
    opened ??= open(store);
    return opened;
  };
}

async function open(store: { table: Table; bucket: Bucket } & EmbedderOptions): Promise<Recall> {
  const [{ openRecall }, { createFindEmbedder }] = await Promise.all([
    import("./recall.ts"),
    import("./vectors/embedder.ts"),
  ]);
  return openRecall(store, createFindEmbedder(store));
}
