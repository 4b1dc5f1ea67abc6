import type { DreamVerdict, Memory } from "../protocol/memory-schemas.ts";
import { termsOf } from "../recall/words.ts";
import { findSecret } from "../runtime/secret-shapes.ts";
import { promptFiles } from "../workspace/workspace-paths.ts";
import type { Promotion } from "./dream-texts.ts";
import type { DreamSettings } from "./plan-dream.ts";
import { type RecallHit, type Signals, scoreOf, signalsOf } from "./recall-signals.ts";

/** A memory that was recalled. */
export interface Candidate {
  memory: Memory;
  hits: readonly RecallHit[];
  /** Whether an earlier sweep promoted it. */
  isPromoted: boolean;
}

/** The kinds of conversations from which dreaming promotes memories: the owner's own. */
export const dreamKinds: readonly string[] = ["main", "named"];

/** A memory counts as present in MEMORY.md if one line has at least this share of its words. */
const sameWords = 0.9;

/** The decision of a sweep on its candidates: the promotions, best first, and the reasons against the others. */
export interface Choice {
  promotions: Promotion[];
  verdicts: DreamVerdict[];
}

/**
 * Chooses the memories to promote into MEMORY.md. The same input gives the same choice, in the same order.
 * @param longTerm the memories in MEMORY.md
 */
export function chooseMemories(
  candidates: readonly Candidate[],
  longTerm: readonly string[],
  settings: DreamSettings,
  now: number,
): Choice {
  const present = longTerm.map((text) => new Set(termsOf(text)));
  const judged = candidates
    .map((candidate) => {
      const signals = signalsOf(candidate.hits, candidate.memory.record?.type ?? "project", now);
      const score = scoreOf(signals, settings.weights);
      return {
        candidate,
        signals,
        score,
        why: reasonAgainst(candidate, { signals, score }, settings, present),
      };
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

/** The start of the reason for a memory with a secret. */
export const secretReason = "contains a secret";
export const promotedReason = "promoted before";

/** Why a memory is not promoted, the strictest reason first; undefined when it may be. */
function reasonAgainst(
  { memory, isPromoted }: Candidate,
  { signals, score }: { signals: Signals; score: number },
  settings: DreamSettings,
  present: readonly ReadonlySet<string>[],
): string | undefined {
  if (isPromoted) return promotedReason;
  if (!memory.record) return "its origin is unknown";
  if (!dreamKinds.includes(memory.record.kind)) return `came from a ${memory.record.kind} conversation`;
  if (memory.record.supersededBy) return "was corrected";
  const secret = findSecret(memory.text);
  if (secret) return `${secretReason} (${secret})`;
  const shape = noSentence(memory.text);
  if (shape) return shape;
  const inPrompt = memory.places.find(({ path }) => path === promptFiles.memory || path === promptFiles.user);
  if (inPrompt || isPresent(memory.text, present))
    return `already in ${inPrompt?.path ?? promptFiles.memory}`;
  const { recallCount, uniqueQueries, uniqueDays } = signals;
  if (recallCount < settings.minRecallCount)
    return `recalled ${recallCount} of ${settings.minRecallCount} times`;
  if (uniqueQueries < settings.minUniqueQueries)
    return `recalled by ${uniqueQueries} of ${settings.minUniqueQueries} questions`;
  if (uniqueDays < 1) return "recalled on no day";
  return score < settings.minScore ? `score below ${settings.minScore}` : undefined;
}

/** Whether one line of MEMORY.md has nearly all words of a memory. */
function isPresent(text: string, present: readonly ReadonlySet<string>[]): boolean {
  const words = new Set(termsOf(text));
  if (words.size === 0) return false;
  return present.some((line) => [...words].filter((word) => line.has(word)).length / words.size >= sameWords);
}

/** A score as it is shown. */
export const rounded = (score: number): number => Math.round(score * 1000) / 1000;

/** Bounds of a promoted memory's length. A Chinese, Japanese, Korean or Thai character counts twice, because it carries more. */
const minLength = 12;
const maxLength = 300;

const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;

/** Matches the start of a heading, a quote, a table, code, a shell prompt, or data. */
const noBeginning = /^(?:[#>|$%`~{}[\]<]|\*{3}|-{3}|={3}|!\[|https?:\/\/\S+$)/;
/** Matches a line of a transcript, which starts with its speaker. */
const speaker = /^(?:user|assistant|system|tool|human|ai)\s*:/i;
/** Matches a shell command with an option, a path or a pipe. */
const command =
  /^(?:sudo|npm|npx|yarn|pnpm|node|git|cd|ls|cat|grep|find|rm|cp|mv|mkdir|chmod|curl|wget|ssh|scp|docker|kubectl|aws|cdk|pip3?|python3?|apt(?:-get)?|brew|make|export|echo|bash|sh|gsv)\s.*(?:\s-{1,2}\w|\S\/\S|[|&<>]|=\S|\.\w{1,4}\b)|^(?:npm|npx|yarn|pnpm) (?:i|ci|run|install|test|start|exec)\b|^git (?:status|push|pull|add|commit|log|diff|checkout|rebase|merge|clone|fetch|stash)\b/;
/** Matches code: a code fence, an operator that prose does not have, a line that ends like code. */
const code =
  /```|&&|\|\||=>|->|::|;\s*$|[{(]\s*$|<\/?\w+>|^(?:const|let|var|function|import|def|class|return)\s/;

/**
 * Why a line is not a sentence for long-term memory (a command or a table, for example); undefined when it is one.
 */
function noSentence(text: string): string | undefined {
  const length = [...text].length + (text.match(dense)?.length ?? 0);
  if (length < minLength) return "too short";
  if (length > maxLength) return "too long";
  const marks = text.match(/[\p{L}\p{M}\s]/gu)?.length ?? 0;
  const isProse = marks >= [...text].length / 2 && (/\p{L}\s+\S*\p{L}/u.test(text) || dense.test(text));
  dense.lastIndex = 0;
  const isOther = [noBeginning, speaker, command, code].some((shape) => shape.test(text));
  return isProse && !isOther ? undefined : "not a sentence";
}
