import { dayInWords } from "./date-words.ts";
import type { Turn } from "./segment.ts";
import { termsOf } from "./words.ts";

/** The conversation of turns that were added together. */
export interface Passage {
  sessionKey: string;
  sessionId: string;
  /** Whose words the conversation contains, besides the owner's. */
  origins?: string[] | undefined;
}

/** A turn with its place in the index. */
export interface IndexedTurn extends Turn {
  conversation: Passage;
}

/** Low bits of a posting for the number of occurrences in the turn; the turn's place is in the bits above. */
const countBits = 4;
const maxCounted = (1 << countBits) - 1;

/**
 * An index of turns by their terms. Turns are added in chronological order within a conversation, and cannot be removed.
 */
export interface TurnIndex {
  turns: readonly IndexedTurn[];
  /** Number of terms of each turn, without its date. */
  lengths: readonly number[];
  /** Number of terms of each turn's day. */
  dayLengths: readonly number[];
  /** Places of the turns with a term, ascending, each with its count: read them with `placeOf` and `countOf`. */
  postings(term: string): readonly number[];
  /** Places of the turns whose day in words contains a term, ascending. */
  dayPostings(term: string): readonly number[];
  /** Adds turns of one conversation. Messages already in the index are skipped. */
  add(conversation: Passage, turns: readonly Turn[]): void;
  /** Whether the index has this message of a conversation. */
  has(sessionId: string, n: number): boolean;
}

export const placeOf = (posting: number): number => posting >> countBits;
export const countOf = (posting: number): number => posting & maxCounted;

/** Days of all timezones begin at a multiple of this time, in milliseconds. */
const quarterMs = 15 * 60_000;

/** @param timezone IANA name, which decides the day of a turn */
export function createTurnIndex(timezone: string): TurnIndex {
  const turns: IndexedTurn[] = [];
  const lengths: number[] = [];
  const dayLengths: number[] = [];
  const byTerm = new Map<string, number[]>();
  const byDayTerm = new Map<string, number[]>();
  const days = new Map<number, readonly string[]>();
  const numbers = new Map<string, Set<number>>();
  const dayOf = (ts: number) => {
    const quarter = Math.floor(ts / quarterMs);
    const known = days.get(quarter) ?? termsOf(dayInWords(ts, timezone));
    days.set(quarter, known);
    return known;
  };
  const addTurn = (conversation: Passage, turn: Turn) => {
    const place = turns.push({ ...turn, conversation }) - 1;
    const terms = termsOf(turn.text);
    for (const term of terms) addPosting(byTerm, term, place);
    const day = dayOf(turn.ts);
    for (const term of day) push(byDayTerm, term, place);
    lengths.push(terms.length);
    dayLengths.push(day.length);
  };
  return {
    turns,
    lengths,
    dayLengths,
    postings: (term) => byTerm.get(term) ?? [],
    dayPostings: (term) => byDayTerm.get(term) ?? [],
    has: (sessionId, n) => numbers.get(sessionId)?.has(n) ?? false,
    add(conversation, added) {
      const known = numbers.get(conversation.sessionId) ?? new Set();
      numbers.set(conversation.sessionId, known);
      for (const turn of added) {
        if (known.has(turn.n)) continue;
        known.add(turn.n);
        addTurn(conversation, turn);
      }
    },
  };
}

function addPosting(lists: Map<string, number[]>, term: string, place: number): void {
  const list = lists.get(term);
  const last = list?.at(-1) ?? -1;
  if (!list || placeOf(last) !== place) push(lists, term, (place << countBits) | 1);
  else if (countOf(last) < maxCounted) list[list.length - 1] = last + 1;
}

function push(lists: Map<string, number[]>, term: string, value: number): void {
  const list = lists.get(term);
  if (list) list.push(value);
  else lists.set(term, [value]);
}
