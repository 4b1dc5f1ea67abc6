import { LRUCache } from "lru-cache";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import type { Memories } from "../../../shared/memory/memories.ts";
import { readChanges } from "../../../shared/recall/changes.ts";
import type { Recall } from "../../../shared/recall/recall.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import {
  agentIdOf,
  clientKinds,
  isGuestSessionKey,
  sessionKind,
} from "../../../shared/session/key/session-key.ts";
import type { Table } from "../../../shared/world/world.ts";
import type { Reminded, RemindRequest } from "./remind.ts";

/** Max wait for reads that are not ready when everything else of a request is. Milliseconds. */
const maxWaitMs = 300;

/** Max age of the texts, unless the count of changes says that it is old. Milliseconds. */
const maxAgeMs = 60_000;

/** Chooses the reminders of a message. */
type Find = (request: RemindRequest) => Reminded | undefined;

/**
 * What a new message reminds the agent of, without a model (docs/search.md, "Reminders"). Everything is read in parallel with
 * acquiring the lease. Create one per warm function: it caches.
 */
export interface Reminders {
  /**
   * Starts to read what the next message of a session needs, unless that began at `since` (epoch ms) or later. Does nothing
   * for sessions without reminders.
   */
  prepare(sessionKey: string, since?: number): void;
  /** Undefined when there are none, they are off, or the reads fail or take too long. */
  find(request: RemindRequest): Promise<Reminded | undefined>;
  /** This process has changed what there is to recall. */
  refresh(sessionKey: string): void;
}

/** The kinds of sessions that have reminders: those that nobody but the owner reads. */
const remindedKinds: readonly string[] = [...clientKinds, "dm"];

interface Kept {
  changes: number;
  readAt: number;
  timezone: string;
  find: Find;
}

interface Read {
  startedAt: number;
  find: Promise<Find | undefined>;
}

/** Max number of sessions whose reads are kept: those of a gateway that work at the same time. */
const maxReads = 100;

interface RemindersAgent {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  memories: () => Promise<Memories>;
  recall: () => Promise<Recall>;
  now: () => number;
}

export function createReminders(agent: RemindersAgent): Reminders {
  const kept = new Map<string, Kept>();
  const reads = new LRUCache<string, Read>({ max: maxReads });
  const read = async (sessionKey: string): Promise<Find | undefined> => {
    const configuration = await agent.configuration.load({ anyAge: true });
    const kind = sessionKind(sessionKey, keyRules(configuration));
    const isReminded = remindedKinds.includes(kind) && !isGuestSessionKey(sessionKey);
    if (!configuration.memory.autoRecall || !isReminded) return undefined;
    const agentId = agentIdOf(sessionKey);
    const timezone = configuration.userTimezone;
    const now = agent.now();
    const old = kept.get(agentId);
    const isRecent = old?.timezone === timezone && now - old.readAt < maxAgeMs;
    // The count is read first, so that it is never newer than the texts.
    const counting = readChanges(agent.table, agentId);
    if (isRecent && old.changes === (await counting)) return old.find;
    const [changes, find] = await Promise.all([counting, readTexts(agent, agentId, timezone)]);
    kept.set(agentId, { changes, readAt: now, timezone, find });
    return find;
  };
  const prepare: Reminders["prepare"] = (sessionKey, since = agent.now()) => {
    const last = reads.get(sessionKey);
    if (last && last.startedAt >= since) return;
    const find = read(sessionKey).catch((error: unknown) => {
      logError("reminders.unread", error, { sessionKey });
      return undefined;
    });
    reads.set(sessionKey, { startedAt: agent.now(), find });
  };
  return {
    prepare,
    async find(request) {
      const find = await soon(reads.get(request.sessionKey)?.find);
      try {
        return find?.(request);
      } catch (error) {
        logError("reminders.failed", error, { sessionKey: request.sessionKey });
        return undefined;
      }
    },
    refresh(sessionKey) {
      kept.delete(agentIdOf(sessionKey));
      reads.delete(sessionKey);
      prepare(sessionKey);
    },
  };
}

async function readTexts(agent: RemindersAgent, agentId: string, timezone: string): Promise<Find> {
  const [{ remind, endedTest, indexMemories }, memories, recall] = await Promise.all([
    import("./remind.ts"),
    agent.memories(),
    agent.recall(),
  ]);
  const [all, isForgotten, turns] = await Promise.all([
    memories.files.listWithEnded(agentId, "main"),
    memories.ledger.mentioned(agentId),
    recall.archived(agentId, timezone),
  ]);
  const lines = all.filter(({ ended }) => ended === undefined);
  const hasEnded = endedTest(
    agentId,
    all.filter(({ ended }) => ended !== undefined),
  );
  const noted = lines.map((line) => ({ ...line, places: [line] }));
  const isGone = (text: string) => isForgotten(text) || hasEnded(text);
  const texts = { lines, memories: indexMemories(noted, timezone), turns, isGone };
  return (request) => remind(texts, request);
}

/** What resolves within `maxWaitMs`. */
async function soon<T>(value: Promise<T> | undefined): Promise<T | undefined> {
  if (value === undefined) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, maxWaitMs, undefined);
  });
  return Promise.race([value, late]).finally(() => clearTimeout(timer));
}
