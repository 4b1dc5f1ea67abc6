import { LRUCache } from "lru-cache";
import type { Message, ToolResultMessage } from "../../../shared/protocol/messages.ts";
import { loadArchiveLines, partKey } from "../../../shared/session/archive.ts";
import type { Bucket } from "../../../shared/world/world.ts";

/** Bounds of the cache of a warm function: the number of results, and their characters together. */
const maxResults = 64;
const maxCharacters = 10_000_000;

/** A result in the archive of a compaction. */
export interface ArchivedPlace {
  agentId: string;
  sessionId: string;
  /** The time of the compaction; epoch ms. */
  at: number;
  /** From 0. */
  line: number;
}

/** Reads results that compactions have archived. Archives never change, so a warm function reads each result once. */
export interface ArchivedResults {
  /** Undefined when the archive is gone, or when that line is not a tool result. */
  read(place: ArchivedPlace): Promise<ToolResultMessage | undefined>;
}

export function createArchivedResults(bucket: Bucket): ArchivedResults {
  const cache = new LRUCache<string, ToolResultMessage>({
    max: maxResults,
    maxSize: maxCharacters,
    sizeCalculation: (result) => Math.max(1, JSON.stringify(result).length),
  });
  return {
    async read({ agentId, sessionId, at, line }) {
      const key = partKey(agentId, sessionId, at);
      const name = `${key} ${line}`;
      const known = cache.get(name);
      if (known) return known;
      const text = (await loadArchiveLines(bucket, key))?.[line];
      const message = text === undefined ? undefined : (JSON.parse(text) as Message);
      if (message?.role !== "toolResult") return undefined;
      cache.set(name, message);
      return message;
    },
  };
}
