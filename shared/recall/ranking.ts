import { dateTerms } from "./date-words.ts";
import { countOf, type IndexedTurn, placeOf, type TurnIndex } from "./turn-index.ts";
import { termsOf } from "./words.ts";

/**
 * A search scores windows: a turn with the two turns before it and the one after it, and its day in words. An answer
 * often shares no word with a search, but its neighbours do ("How is Max?" "He eats again.").
 */
const turnsBefore = 2;
const turnsAfter = 1;

/** The parameters of BM25. */
const k1 = 1.2;
const b = 0.75;

/** Extra weight of a turn's own words: among neighbours with equal windows, the turn that contains the words comes first. */
const ownWeight = 0.1;

/** A turn whose window matches the question; higher scores are better. */
export interface RankedTurn {
  turn: IndexedTurn;
  score: number;
}

/** The search terms of a question, without repeats. */
export function questionTerms(question: string): string[] {
  return [...new Set([...termsOf(question), ...dateTerms(question)])];
}

/**
 * Ranks the turns of several indexes as if they were one. All windows count as documents of BM25.
 * @returns at most `limit`, best first; equal scores newest first
 */
export function rankTurns(indexes: readonly TurnIndex[], question: string, limit: number): RankedTurn[] {
  const windows = indexes.map(openWindows);
  const total = indexes.reduce((sum, { turns }) => sum + turns.length, 0);
  const mean = (lengths: (of: Windows) => Iterable<number>) =>
    Math.max(1, windows.reduce((all, of) => all + sum(lengths(of)), 0) / Math.max(1, total));
  const means = { window: mean((of) => of.lengths), own: mean((of) => of.index.lengths) };
  for (const term of questionTerms(question)) {
    const found = windows.map((window) => window.count(term));
    const holders = found.reduce((all, { places }) => all + places.length, 0);
    const weight = Math.log(1 + (total - holders + 0.5) / (holders + 0.5));
    for (const [i, window] of windows.entries()) addScores(window, found[i] as Counted, term, weight, means);
  }
  return windows
    .flatMap((one) => bestOf(one, limit))
    .sort(bestFirst)
    .slice(0, limit);
}

/** The windows with a term, and the number of occurrences by place; the reader resets the counts to 0. */
interface Counted {
  places: number[];
  counts: Uint16Array;
}

interface Windows {
  index: TurnIndex;
  /** Number of terms of each window, including the date. */
  lengths: Float64Array;
  scores: Float64Array;
  count(term: string): Counted;
}

/** @param means mean numbers of terms of a window and of a turn */
function addScores(
  { index, lengths, scores }: Windows,
  { places, counts }: Counted,
  term: string,
  weight: number,
  means: { window: number; own: number },
): void {
  const add = (place: number, share: number, count: number, relativeLength: number) => {
    const norm = k1 * (1 - b + b * relativeLength);
    scores[place] = (scores[place] ?? 0) + (share * weight * count * (k1 + 1)) / (count + norm);
  };
  for (const place of places) {
    add(place, 1, counts[place] ?? 0, (lengths[place] ?? 0) / means.window);
    counts[place] = 0;
  }
  for (const posting of index.postings(term)) {
    const place = placeOf(posting);
    add(place, ownWeight, countOf(posting), (index.lengths[place] ?? 0) / means.own);
  }
}

function openWindows(index: TurnIndex): Windows {
  const { turns } = index;
  const counts = new Uint16Array(turns.length);
  const isNear = (place: number, other: number) =>
    turns[other] !== undefined && turns[other].conversation === turns[place]?.conversation;
  return {
    index,
    lengths: windowLengths(index, isNear),
    scores: new Float64Array(turns.length),
    count(term) {
      const places: number[] = [];
      const add = (place: number, count: number) => {
        if (counts[place] === 0) places.push(place);
        counts[place] = (counts[place] ?? 0) + count;
      };
      for (const posting of index.postings(term)) {
        const place = placeOf(posting);
        // A turn is in the windows of its neighbours, in the reverse direction.
        for (let near = place - turnsAfter; near <= place + turnsBefore; near++)
          if (isNear(place, near)) add(near, countOf(posting));
      }
      for (const place of index.dayPostings(term)) add(place, 1);
      return { places, counts };
    },
  };
}

/** Lengths of all windows, by the number of turns for which they were counted. */
const knownLengths = new WeakMap<TurnIndex, Float64Array>();

function windowLengths(index: TurnIndex, isNear: (place: number, other: number) => boolean): Float64Array {
  const known = knownLengths.get(index);
  if (known?.length === index.turns.length) return known;
  const lengths = Float64Array.from(index.dayLengths);
  for (const [place, length] of index.lengths.entries())
    for (let near = place - turnsAfter; near <= place + turnsBefore; near++)
      if (isNear(place, near)) lengths[near] = (lengths[near] ?? 0) + length;
  knownLengths.set(index, lengths);
  return lengths;
}

function bestOf({ scores, index }: Windows, limit: number): RankedTurn[] {
  const found: RankedTurn[] = [];
  const minScore = minOfBest(scores, limit);
  for (const [place, score] of scores.entries()) {
    const turn = index.turns[place];
    if (turn && score > 0 && score >= minScore) found.push({ turn, score });
  }
  return found;
}

/** The lowest score among the best `limit`. Sorting only numbers is fast; most turns share a word with a question. */
function minOfBest(scores: Float64Array, limit: number): number {
  return Float64Array.from(scores).sort().at(-limit) ?? 0;
}

const bestFirst = (a: RankedTurn, b: RankedTurn) => b.score - a.score || b.turn.ts - a.turn.ts;

function sum(values: Iterable<number>): number {
  let all = 0;
  for (const value of values) all += value;
  return all;
}
