import { createSegments } from "../recall/segments.ts";
import { log } from "../runtime/log.ts";
import type { Workspace } from "../workspace/workspace-files.ts";
import type { Bucket, Table } from "../world/world.ts";
import { openLedger, usualType } from "./ledger.ts";
import { openMemoryFiles } from "./memory-files.ts";
import { type MemoryLine, memoryId, readMemories, withoutMemory } from "./memory-line.ts";
import {
  allow,
  end,
  forget,
  type MemoryOrigin,
  type MemoryStore,
  type MemoryUse,
  readMemory,
  recall,
  recallEach,
  remember,
  supersede,
} from "./memory-store.ts";

const operations = {
  ...{ remember, recall, recallEach, read: readMemory, forget, supersede, allow, end },
  ...{ withoutForgotten, keepExtracted, keepChanges, recordAdded, removeForgotten },
};

type Rest<F> = F extends (store: MemoryStore, ...rest: infer R) => infer T ? (...rest: R) => T : never;
type Operations = { [Name in keyof typeof operations]: Rest<(typeof operations)[Name]> };

/** The operations on memories: see the functions of these names. */
export interface Memories extends MemoryStore, Operations {
  /** The content of a file without a memory. */
  without: typeof withoutMemory;
}

export type { MemoryUse };

export function openMemories(
  { table, bucket, workspace }: { table: Table; bucket: Bucket; workspace: Workspace },
  segments = createSegments(bucket),
): Memories {
  const store: MemoryStore = {
    files: openMemoryFiles(bucket, workspace, segments),
    ledger: openLedger(table),
  };
  const all: [string, (store: MemoryStore, ...rest: never[]) => unknown][] = Object.entries(operations);
  const bound = all.map(([name, use]) => [name, use.bind(undefined, store)]);
  return { ...store, ...(Object.fromEntries(bound) as Operations), without: withoutMemory };
}

/** Maximum number of memories of one extraction or file whose origin is recorded. */
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
function keepExtracted(
  store: MemoryStore,
  agentId: string,
  text: string,
  from: ExtractedFrom,
): Promise<void> {
  return record(store, agentId, readMemories("", text), { ...from, by: "extraction" });
}

/** What a conversation says about a memory that is noted already. `text`: the fact that replaces it. */
interface SaidAgain {
  kind: "same" | "replaces" | "ended";
  id: string;
  text?: string;
}

/** Records that memories were said again, and ends those that no longer hold. A repeat changes nothing. */
async function keepChanges(
  store: MemoryStore,
  use: MemoryUse,
  changes: readonly SaidAgain[],
  from: ExtractedFrom,
): Promise<void> {
  const current = new Set((await store.files.list(use.agentId, use.audience)).map(({ id }) => id));
  for (const { kind, id, text } of changes) {
    if (!current.has(id)) continue;
    if (kind === "same")
      await store.ledger.note(use.agentId, { type: usualType, ...from, by: "extraction", id });
    else await end(store, use, id, text === undefined ? undefined : memoryId(text));
  }
}

/** Records the origin of the memories that a file's new content has and the file has not. A repeat changes nothing. */
async function recordAdded(
  store: MemoryStore,
  agentId: string,
  path: string,
  content: string,
  from: MemoryOrigin & { at: number },
): Promise<void> {
  const known = new Set((await store.files.read(agentId, path)).map(({ id }) => id));
  const added = readMemories(path, content).filter(({ id }) => !known.has(id));
  await record(store, agentId, added, from);
}

async function record(
  { ledger }: MemoryStore,
  agentId: string,
  memories: readonly MemoryLine[],
  from: MemoryOrigin & { at: number },
): Promise<void> {
  const some = memories.slice(0, maxRecorded);
  await Promise.all(some.map(({ id }) => ledger.note(agentId, { type: usualType, ...from, id })));
}

/**
 * Removes memories from the file to which an extraction has just added them, if they were forgotten before that, but after it
 * had left out forgotten ones. A later `forget` finds them in the file.
 */
async function removeForgotten(
  { files, ledger }: MemoryStore,
  agentId: string,
  path: string,
  text: string,
): Promise<void> {
  const isForgotten = await ledger.forgotten(agentId);
  const gone = readMemories("", text).filter((memory) => isForgotten(memory.text) !== undefined);
  const ids = gone.map(({ id }) => id);
  if (ids.length > 0) await files.removeFrom(agentId, path, ids);
}
