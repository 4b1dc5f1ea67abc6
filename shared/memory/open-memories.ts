import type { Workspace } from "../workspace/workspace-files.ts";
import type { Bucket, Table } from "../world/world.ts";
import { keepExtracted, withoutForgotten } from "./extracted.ts";
import { openLedger } from "./ledger.ts";
import { openMemoryFiles } from "./memory-files.ts";
import { withoutMemory } from "./memory-line.ts";
import {
  forget,
  type MemoryStore,
  type MemoryUse,
  readMemory,
  recall,
  remember,
  supersede,
} from "./use-memories.ts";

type Rest<F> = F extends (store: MemoryStore, ...rest: infer R) => infer T ? (...rest: R) => T : never;

/** What can be done with the memories of agents: see the functions of these names. */
export interface Memories extends MemoryStore {
  remember: Rest<typeof remember>;
  recall: Rest<typeof recall>;
  read: Rest<typeof readMemory>;
  forget: Rest<typeof forget>;
  supersede: Rest<typeof supersede>;
  /** The content of a file without a memory. */
  without: typeof withoutMemory;
  withoutForgotten: Rest<typeof withoutForgotten>;
  keepExtracted: Rest<typeof keepExtracted>;
}

export type { MemoryUse };

export function openMemories({
  table,
  bucket,
  workspace,
}: {
  table: Table;
  bucket: Bucket;
  workspace: Workspace;
}): Memories {
  const store: MemoryStore = { files: openMemoryFiles(bucket, workspace), ledger: openLedger(table) };
  const of = <R extends unknown[], T>(use: (store: MemoryStore, ...rest: R) => T) =>
    use.bind(undefined, store);
  return {
    ...store,
    remember: of(remember),
    recall: of(recall),
    read: of(readMemory),
    forget: of(forget),
    supersede: of(supersede),
    without: withoutMemory,
    withoutForgotten: of(withoutForgotten),
    keepExtracted: of(keepExtracted),
  };
}
