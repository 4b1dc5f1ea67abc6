import { dateTerms } from "./date-words.ts";
import { countOf, type IndexedTurn, type Passage, placeOf, type TurnIndex } from "./turn-index.ts";
import { termsOf } from "./words.ts";

/**
 * A search scores windows: a turn with the two turns before it and the one after it, and its day in words. An answer
 * often shares no word with a search, but its neighbours do ("How is Max?" "He eats again.").
 */
const turnsBefore = 2;
const turnsAfter = 1;

/** The weight of a turn's words in the window of a neighbour at this distance. */
const nearWeight = [1, 2 / 3, 1 / 2] as const;

/** The parameters of BM25. */
const k1 = 1.2;
const b = 0.75;

/** Extra weight of a turn's own words: among neighbours with equal windows, the turn that contains the words comes first. */
const ownWeight = 0.3;

/** Weight of a conversation's mean score: of equal windows, the one in a conversation about the subject comes first. */
const conversationWeight = 0.3;

/** A turn whose window matches the question; higher scores are better. */
export interface RankedTurn {
  turn: IndexedTurn;
  score: number;
  /** How much of the question its window contains, by the weight of the words: from 0 to 1. */
  share: number;
}

/** The search terms of a question, without repeats. */
export function questionTerms(question: string): string[] {
  return [...new Set([...termsOf(question), ...dateTerms(question)])];
}

/**
 * Ranks the turns of several indexes as if they were one. All windows count as documents of BM25.
 * @param isWanted other turns are not found
 * @returns at most `limit`, best first; equal scores newest first
 */
export function rankTurns(
  indexes: readonly TurnIndex[],
  question: string,
  limit: number,
  isWanted?: (turn: IndexedTurn) => boolean,
): RankedTurn[] {
  const windows = indexes.map(openWindows);
  const total = indexes.reduce((sum, { turns }) => sum + turns.length, 0);
  const mean = (lengths: (of: Windows) => Iterable<number>) => {
    let sum = 0;
    for (const of of windows) for (const length of lengths(of)) sum += length;
    return Math.max(1, sum / Math.max(1, total));
  };
  const means = { window: mean((of) => of.lengths), own: mean((of) => of.index.lengths) };
  let whole = 0;
  for (const term of questionTerms(question)) {
    const found = windows.map((window) => window.count(term));
    const holders = found.reduce((all, { places }) => all + places.length, 0);
    const weight = Math.log(1 + (total - holders + 0.5) / (holders + 0.5));
    whole += weight;
    for (const [i, window] of windows.entries()) addScores(window, found[i] as Counted, term, weight, means);
  }
  for (const window of windows) addConversations(window);
  const best = windows.flatMap((one) => bestOf(one, limit, isWanted)).sort(bestFirst);
  const isFirst = firstTime();
  return best
    .filter(({ turn }) => isFirst(turn))
    .slice(0, limit)
    .map(({ share, ...one }) => ({ ...one, share: share / whole }));
}

/** A test that is true once for each message: two archives may have it after a compaction that was repeated. */
export function firstTime(): (turn: IndexedTurn) => boolean {
  const known = new Set<string>();
  return ({ conversation, n }) => {
    const before = known.size;
    return known.add(`${conversation.sessionId} ${n}`).size > before;
  };
}

/** The windows with a term, and the weighted number of occurrences by place; the reader resets the counts to 0. */
interface Counted {
  places: number[];
  counts: Float32Array;
}

interface Windows {
  index: TurnIndex;
  /** Number of terms of each window, including the date. */
  lengths: Float64Array;
  scores: Float64Array;
  /** The weights of the words that a window contains. */
  covered: Float64Array;
  count(term: string): Counted;
}

/** @param means mean numbers of terms of a window and of a turn */
function addScores(
  { index, lengths, scores, covered }: Windows,
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
    covered[place] = (covered[place] ?? 0) + weight;
    add(place, 1, counts[place] ?? 0, (lengths[place] ?? 0) / means.window);
    counts[place] = 0;
  }
  for (const posting of index.postings(term)) {
    const place = placeOf(posting);
    add(place, ownWeight, countOf(posting), (index.lengths[place] ?? 0) / means.own);
  }
}

function addConversations({ index: { turns }, scores }: Windows): void {
  const sums = new Map<Passage, { score: number; turns: number }>();
  for (const [place, { conversation }] of turns.entries()) {
    const known = sums.get(conversation) ?? { score: 0, turns: 0 };
    known.score += scores[place] ?? 0;
    known.turns += 1;
    sums.set(conversation, known);
  }
  for (const [place, { conversation }] of turns.entries()) {
    const all = sums.get(conversation);
    const score = scores[place] ?? 0;
    if (all && score > 0) scores[place] = score + (conversationWeight * all.score) / all.turns;
  }
}

const weightAt = (distance: number): number => nearWeight[Math.abs(distance)] ?? 0;

function openWindows(index: TurnIndex): Windows {
  const { turns } = index;
  const counts = new Float32Array(turns.length);
  const isNear = (place: number, other: number) =>
    turns[other] !== undefined && turns[other].conversation === turns[place]?.conversation;
  return {
    index,
    lengths: windowLengths(index, isNear),
    scores: new Float64Array(turns.length),
    covered: new Float64Array(turns.length),
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
          if (isNear(place, near)) add(near, countOf(posting) * weightAt(near - place));
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
      if (isNear(place, near)) lengths[near] = (lengths[near] ?? 0) + length * weightAt(near - place);
  knownLengths.set(index, lengths);
  return lengths;
}

function bestOf(
  { scores, covered, index }: Windows,
  limit: number,
  isWanted?: (turn: IndexedTurn) => boolean,
): RankedTurn[] {
  if (isWanted) for (const [place, turn] of index.turns.entries()) if (!isWanted(turn)) scores[place] = 0;
  const found: RankedTurn[] = [];
  const minScore = minOfBest(scores, limit);
  for (const [place, score] of scores.entries()) {
    const turn = index.turns[place];
    if (turn && score > 0 && score >= minScore) found.push({ turn, score, share: covered[place] ?? 0 });
  }
  return found;
}

/** The lowest score among the best `limit`. Sorting only numbers is fast; most turns share a word with a question. */
function minOfBest(scores: Float64Array, limit: number): number {
  return Float64Array.from(scores).sort().at(-limit) ?? 0;
}

const bestFirst = (a: RankedTurn, b: RankedTurn) => b.score - a.score || b.turn.ts - a.turn.ts;
