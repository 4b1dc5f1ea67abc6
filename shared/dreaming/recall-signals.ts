import type { MemoryType } from "../protocol/memory-schemas.ts";
import { plainText, termsOf } from "../recall/words.ts";

const dayMs = 86_400_000;

/** One recall of a memory: the question, and the memory's rank in the answer: 1, 2, … */
export interface RecallHit {
  query: string;
  rank: number;
  /** Epoch ms. */
  at: number;
}

/** How a memory was recalled. `frequency` to `diversity` are 0 to 1. */
export interface Signals {
  /** How often: 1 from six recalls on. */
  frequency: number;
  /** How well it matched: the mean of 1/rank. */
  relevance: number;
  /** How recently: 1 at the last recall, half after each half-life. */
  recency: number;
  /** How diverse: the larger of distinct questions and distinct days; 1 from five on. */
  diversity: number;
  recallCount: number;
  /** Distinct questions (`questionOf`). */
  uniqueQueries: number;
  /** Distinct days in UTC. */
  uniqueDays: number;
}

/** The weight of each signal in a score. */
export interface SignalWeights {
  frequency: number;
  relevance: number;
  recency: number;
  diversity: number;
  consolidation: number;
}

/** Half-life of the recency in days, by type of memory. */
const halfLives: Record<MemoryType, number> = { user: 10_000, feedback: 365, project: 90, reference: 10_000 };

/** Number of recalls from which on the frequency is 1. */
const frequent = 6;
/** Number of questions or days from which on the diversity is 1, and of days from which on the consolidation is 1. */
const diverse = 5;

/** The signals of a memory that was recalled at least once. */
export function signalsOf(hits: readonly RecallHit[], type: MemoryType, now: number): Signals {
  const recallCount = hits.length;
  const uniqueQueries = new Set(hits.map(({ query }) => questionOf(query))).size;
  const uniqueDays = new Set(hits.map(({ at }) => Math.floor(at / dayMs))).size;
  const relevance = hits.reduce((sum, { rank }) => sum + 1 / rank, 0) / Math.max(1, recallCount);
  const last = hits.reduce((latest, { at }) => Math.max(latest, at), 0);
  const daysSince = Math.max(0, now - last) / dayMs;
  return {
    frequency: Math.min(1, Math.log(1 + recallCount) / Math.log(1 + frequent)),
    relevance: Math.min(1, Math.max(0, relevance)),
    recency: 2 ** (-daysSince / halfLives[type]),
    diversity: Math.min(1, Math.max(uniqueQueries, uniqueDays) / diverse),
    recallCount,
    uniqueQueries,
    uniqueDays,
  };
}

/** The score of a memory: 0.94 at most with the usual weights. */
export function scoreOf(signals: Signals, weights: SignalWeights): number {
  return (
    weights.frequency * signals.frequency +
    weights.relevance * signals.relevance +
    weights.recency * signals.recency +
    weights.diversity * signals.diversity +
    weights.consolidation * Math.min(1, signals.uniqueDays / diverse)
  );
}

/** Normalizes a question: its words, sorted, without stop words, accents and endings. */
function questionOf(query: string): string {
  const terms = [...new Set(termsOf(query))].sort().join(" ");
  return terms === "" ? plainText(query).replaceAll(/\s+/g, " ").trim() : terms;
}
