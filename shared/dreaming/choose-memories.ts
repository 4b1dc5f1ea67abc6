import type { DreamVerdict, Memory } from "../protocol/memory-schemas.ts";
import { termsOf } from "../recall/words/words.ts";
import { findSecret } from "../runtime/secret-shapes.ts";
import type { DreamSettings } from "./dream-settings.ts";
import type { Promotion } from "./dream-texts.ts";
import { type RecallHit, type Signals, scoreOf, signalsOf } from "./recall-signals.ts";
import { noSentence } from "./sentence.ts";

/** A memory that was recalled. */
export interface Candidate {
  memory: Memory;
  hits: readonly RecallHit[];
  /** An earlier sweep has promoted it. */
  isPromoted: boolean;
}

/** The kinds of conversations that dreaming takes memories from: the owner's own. */
export const dreamKinds: readonly string[] = ["main", "named"];

/** The part of a memory's words that MEMORY.md must not say already in one line. */
const sameWords = 0.9;

/** What a sweep decides on its candidates: what is promoted, the best first, and why the rest is not. */
export interface Choice {
  promotions: Promotion[];
  verdicts: DreamVerdict[];
}

/**
 * Chooses the memories that are promoted into MEMORY.md. The same input gives the same choice, in the same order.
 * @param longTerm the memories that MEMORY.md holds
 */
export function chooseMemories(
  candidates: readonly Candidate[],
  longTerm: readonly string[],
  settings: DreamSettings,
  now: number,
): Choice {
  const said = longTerm.map((text) => new Set(termsOf(text)));
  const judged = candidates
    .map((candidate) => {
      const signals = signalsOf(candidate.hits, candidate.memory.record?.type ?? "project", now);
      const score = scoreOf(signals, settings.weights);
      return { candidate, signals, score, why: refusal(candidate, { signals, score }, settings, said) };
    })
    .sort((a, b) => b.score - a.score || (a.candidate.memory.id < b.candidate.memory.id ? -1 : 1));
  const promotions: Promotion[] = [];
  const verdicts = judged.map(({ candidate: { memory }, signals, score, why }): DreamVerdict => {
    const isFull = promotions.length >= settings.maxPromotionsPerSweep;
    const reason = why ?? (isFull ? "for a later sweep" : undefined);
    const { recallCount: hits, uniqueQueries: queries, uniqueDays: days } = signals;
    const shown = reason?.startsWith(secretReason) ? "" : memory.text;
    if (reason === undefined) promotions.push({ id: memory.id, text: memory.text, score, hits, days });
    const verdict = { id: memory.id, text: shown, score: rounded(score), hits, queries, days };
    return reason === undefined ? { ...verdict, promoted: true } : { ...verdict, promoted: false, reason };
  });
  return { promotions, verdicts };
}

/** How the reason of a memory begins that holds a secret. */
export const secretReason = "holds a secret";
export const promotedReason = "promoted before";

/** Why a memory is not promoted, the strictest reason first; undefined when it may be. */
function refusal(
  { memory, isPromoted }: Candidate,
  { signals, score }: { signals: Signals; score: number },
  settings: DreamSettings,
  said: readonly ReadonlySet<string>[],
): string | undefined {
  if (isPromoted) return promotedReason;
  if (!memory.record) return "nobody has noted where it came from";
  if (!dreamKinds.includes(memory.record.kind)) return `came from a ${memory.record.kind} conversation`;
  if (memory.record.supersededBy) return "was corrected";
  const secret = findSecret(memory.text);
  if (secret) return `${secretReason} (${secret})`;
  const shape = noSentence(memory.text);
  if (shape) return shape;
  if (memory.places.some(({ path }) => path === "MEMORY.md") || isSaid(memory.text, said))
    return "stands in MEMORY.md";
  const { recallCount, uniqueQueries, uniqueDays } = signals;
  if (recallCount < settings.minRecallCount)
    return `recalled ${recallCount} of ${settings.minRecallCount} times`;
  if (uniqueQueries < settings.minUniqueQueries)
    return `recalled by ${uniqueQueries} of ${settings.minUniqueQueries} questions`;
  if (uniqueDays < 1) return "recalled on no day";
  return score < settings.minScore ? `score below ${settings.minScore}` : undefined;
}

/** Whether one line of MEMORY.md has nearly all the words of a memory. */
function isSaid(text: string, said: readonly ReadonlySet<string>[]): boolean {
  const words = new Set(termsOf(text));
  if (words.size === 0) return false;
  return said.some((line) => [...words].filter((word) => line.has(word)).length / words.size >= sameWords);
}

function rounded(score: number): number {
  return Math.round(score * 1000) / 1000;
}
