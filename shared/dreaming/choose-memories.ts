import type { DreamVerdict, Memory } from "../protocol/memory-schemas.ts";
import { termsOf } from "../recall/words/words.ts";
import { findSecret } from "../runtime/secret-shapes.ts";
import type { DreamSettings } from "./dream-settings.ts";
import type { Promotion } from "./dream-texts.ts";
import { type RecallHit, type Signals, scoreOf, signalsOf } from "./recall-signals.ts";

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

/** Characters of a promoted memory. One of Chinese, Japanese, Korean or Thai counts twice: it says more. */
const least = 12;
const most = 300;

const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;

/** Signs that begin a heading, a quote, a table, code, a command's prompt, or data. */
const noBeginning = /^(?:[#>|$%`~{}[\]<]|\*{3}|-{3}|={3}|!\[|https?:\/\/\S+$)/;
/** Who said it: a line of a transcript. */
const speaker = /^(?:user|assistant|system|tool|human|ai)\s*:/i;
/** A command with what follows one: an option, a path, a pipe. */
const command =
  /^(?:sudo|npm|npx|yarn|pnpm|node|git|cd|ls|cat|grep|find|rm|cp|mv|mkdir|chmod|curl|wget|ssh|scp|docker|kubectl|aws|cdk|pip3?|python3?|apt(?:-get)?|brew|make|export|echo|bash|sh|gsv)\s.*(?:\s-{1,2}\w|\S\/\S|[|&<>]|=\S|\.\w{1,4}\b)|^(?:npm|npx|yarn|pnpm) (?:i|ci|run|install|test|start|exec)\b|^git (?:status|push|pull|add|commit|log|diff|checkout|rebase|merge|clone|fetch|stash)\b/;
/** Code: a block's sign, an operator that prose has not, a line that ends as code does. */
const code =
  /```|&&|\|\||=>|->|::|;\s*$|[{(]\s*$|<\/?\w+>|^(?:const|let|var|function|import|def|class|return)\s/;

/**
 * Why a line is no sentence that belongs into long-term memory, such as a command or a table; undefined when it is one.
 */
function noSentence(text: string): string | undefined {
  const length = [...text].length + (text.match(dense)?.length ?? 0);
  if (length < least) return "too short";
  if (length > most) return "too long";
  const marks = text.match(/[\p{L}\p{M}\s]/gu)?.length ?? 0;
  const isProse = marks >= [...text].length / 2 && (/\p{L}\s+\S*\p{L}/u.test(text) || dense.test(text));
  dense.lastIndex = 0;
  const isOther = [noBeginning, speaker, command, code].some((shape) => shape.test(text));
  return isProse && !isOther ? undefined : "no sentence";
}
