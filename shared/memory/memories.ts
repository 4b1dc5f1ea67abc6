import { log } from "../runtime/log.ts";
import type { Workspace } from "../workspace/workspace-files.ts";
import type { Bucket, Table } from "../world/world.ts";
import { openLedger, usualType } from "./ledger.ts";
import { openMemoryFiles } from "./memory-files.ts";
import { readMemories, withoutMemory } from "./memory-line.ts";
import {
  forget,
  type MemoryStore,
  type MemoryUse,
  readMemory,
  recall,
  remember,
  supersede,
} from "./memory-store.ts";

type Rest<F> = F extends (store: MemoryStore, ...rest: infer R) => infer T ? (...rest: R) => T : never;

/** The operations on memories: see the functions of these names. */
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

/** Maximum number of memories of one extraction whose origin is recorded. */
const maxRecorded = 50;

/** Where memories were extracted. */
interface ExtractedFrom {
  sessionKey: string;
  sessionId: string;
  /** The kind of the session. */
  kind: string;
  /** Epoch ms. */
  at: number;
  /** Whose words the conversation contains, besides the owner's. */
  origins: string[];
}

/** Memories extracted from a conversation, without forgotten ones, which are recorded and logged. */
async function withoutForgotten(
  { ledger }: MemoryStore,
  agentId: string,
  text: string,
  last: Parameters<typeof ledger.suppressed>[2],
): Promise<string> {
  const repeated = await ledger.forgotten(agentId);
  const gone = readMemories("", text).flatMap(({ id, text: memory }) => {
    const forgotten = repeated(memory);
    return forgotten === undefined ? [] : [{ id, forgotten }];
  });
  for (const { forgotten } of gone) {
    log("memories.suppressed", { agentId, memory: forgotten, sessionKey: last.sessionKey });
    await ledger.suppressed(agentId, forgotten, last);
  }
  return gone.reduce((rest, { id }) => withoutMemory(rest, id), text);
}

/** Records the origin of extracted memories. A repeat changes nothing. */
async function keepExtracted(
  { ledger }: MemoryStore,
  agentId: string,
  text: string,
  from: ExtractedFrom,
): Promise<void> {
  const memories = readMemories("", text).slice(0, maxRecorded);
  await Promise.all(
    memories.map(({ id }) => ledger.note(agentId, { id, ...from, by: "extraction", type: usualType })),
  );
}
