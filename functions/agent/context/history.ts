import { type Message, type ToolResultMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";
import type { SessionStore } from "../../../shared/session/bodies.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { readMessages } from "../../../shared/session/transcript.ts";
import { totalCharacters } from "./context-size.ts";

/** What a warm function keeps at most: the messages of so many sessions, so many characters in all. */
const maxSessions = 16;
const maxCharacters = 50_000_000;

interface Kept {
  sessionId: string;
  first: number;
  head: number;
  messages: Message[];
  /** Size of the messages; of those too that were compacted away since they were read. */
  characters: number;
}

/** Reads committed messages, and keeps them while the function is warm: what is committed never changes. */
export interface History {
  /** The live messages of a session as of `state`, in order. Only what is new is read. Not to be changed. */
  load(state: SessionState): Promise<readonly Message[]>;
  /** Notes messages that this function itself is committing, directly after those it has loaded. */
  extend(state: SessionState, messages: readonly Message[]): void;
}

/** @param mostCharacters of all messages that are kept */
export function createHistory(store: SessionStore, mostCharacters = maxCharacters): History {
  const kept = new Map<string, Kept>();
  const keep = (sessionKey: string, entry: Kept) => {
    kept.delete(sessionKey);
    kept.set(sessionKey, entry);
    let characters = 0;
    for (const one of kept.values()) characters += one.characters;
    for (const [oldest, one] of kept) {
      if (kept.size <= maxSessions && characters <= mostCharacters) break;
      kept.delete(oldest);
      characters -= one.characters;
    }
  };
  const usable = (state: SessionState) => {
    const entry = kept.get(state.sessionKey);
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
      keep(sessionKey, { sessionId, first, head, messages, characters });
      return messages;
    },
    extend(state, messages) {
      const entry = usable(state);
      const start = state.head - messages.length;
      if (!entry || entry.head !== start) return;
      const characters = entry.characters + totalCharacters(messages);
      const all = [...entry.messages, ...messages];
      keep(state.sessionKey, { ...entry, head: state.head, messages: all, characters });
    },
  };
}

/**
 * Makes a transcript valid for every provider: a tool call without a result gets an error result, and a result without
 * its call is left out. Nothing is changed in a transcript that is whole.
 */
export function repairTranscript(messages: readonly Message[]): Message[] {
  const repaired: Message[] = [];
  let open: ToolResultMessage[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      const index = open.findIndex((missing) => missing.toolCallId === message.toolCallId);
      if (index < 0) continue;
      open.splice(index, 1);
      repaired.push(message);
      continue;
    }
    repaired.push(...open, message);
    open = toolCallsOf(message).map((call) => ({
      role: "toolResult",
      toolCallId: call.id,
      toolName: call.name,
      content: [{ type: "text", text: "Error: interrupted, outcome unknown" }],
      isError: true,
      timestamp: message.timestamp,
    }));
  }
  return [...repaired, ...open];
}
