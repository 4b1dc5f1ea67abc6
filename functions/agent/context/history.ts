import { LRUCache } from "lru-cache";
import type { Message } from "../../../shared/protocol/messages.ts";
import type { SessionStore } from "../../../shared/session/bodies.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { readMessages } from "../../../shared/session/transcript.ts";
import { totalCharacters } from "./context-size.ts";

/** Bounds of the cache of a warm function: sessions, and characters of all their messages. */
const maxSessions = 16;
const maxCharacters = 50_000_000;

interface CachedSession {
  sessionId: string;
  first: number;
  head: number;
  messages: Message[];
  /** Size of the messages, including those that a compaction has removed since they were read. */
  characters: number;
}

/** Reads committed messages and caches them while the function is warm. Committed messages never change. */
export interface History {
  /** The live messages of a session as of `state`, in order. Reads only messages that are not cached. Do not mutate them. */
  load(state: SessionState): Promise<readonly Message[]>;
  /** Adds messages that this function has committed to the cached ones. They directly follow the loaded messages. */
  extend(state: SessionState, messages: readonly Message[]): void;
}

/** @param maxSize bound of all cached messages together, in characters */
export function createHistory(store: SessionStore, maxSize = maxCharacters): History {
  const cache = new LRUCache<string, CachedSession>({
    max: maxSessions,
    maxSize,
    // The cache refuses a size of 0.
    sizeCalculation: ({ characters }) => Math.max(1, characters),
  });
  const usable = (state: SessionState) => {
    const entry = cache.get(state.sessionKey);
    if (!entry || entry.sessionId !== state.sessionId) return undefined;
    return entry.first <= state.first && entry.head <= state.head && entry.head >= state.first - 1
      ? entry
      : undefined;
  };
  return {
    async load(state) {
      const entry = usable(state);
      const known = entry ? entry.messages.slice(state.first - entry.first) : [];
      const from = entry ? entry.head + 1 : state.first;
      const read = await readMessages(store, state, from);
      const messages = [...known, ...read];
      const characters = (entry?.characters ?? 0) + totalCharacters(read);
      const { sessionKey, sessionId, first, head } = state;
      cache.set(sessionKey, { sessionId, first, head, messages, characters });
      return messages;
    },
    extend(state, messages) {
      const entry = usable(state);
      const start = state.head - messages.length;
      if (!entry || entry.head !== start) return;
      const characters = entry.characters + totalCharacters(messages);
      const all = [...entry.messages, ...messages];
      cache.set(state.sessionKey, { ...entry, head: state.head, messages: all, characters });
    },
  };
}
