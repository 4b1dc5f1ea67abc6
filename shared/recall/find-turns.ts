import { fuse } from "./fuse.ts";
import { densestPlace, type Preview, partAround } from "./preview.ts";
import { questionTerms, type RankedTurn, rankTurns } from "./ranking.ts";
import type { SaidTurns } from "./said-turns.ts";
import type { IndexedTurn } from "./turn-index.ts";
import { plainText } from "./words/words.ts";

/** A message that answers a search, with the part of it that fits best. */
export interface FoundTurn extends RankedTurn {
  preview: Preview;
}

/**
 * Finds what was said about something. The question may be words or a sentence; a part of a word is found only when no word
 * is.
 * @param most characters of a preview
 * @param nearest turns that mean the same in other words, the nearest first; with them the score is that of both orders
 * @returns the best first, at most `limit`
 */
export function findTurns(
  { indexes }: Pick<SaidTurns, "indexes">,
  question: string,
  limit: number,
  most: number,
  nearest: readonly IndexedTurn[] = [],
): FoundTurn[] {
  const depth = nearest.length > 0 ? Math.max(limit, nearest.length) : limit;
  const ranked = rankTurns(indexes, question, depth);
  const byWords = ranked.length > 0 ? ranked : turnsWith(indexes, question, depth);
  const found = nearest.length > 0 ? fuse(byWords, nearest) : byWords;
  const terms = new Set(questionTerms(question));
  return found.slice(0, limit).map((one) => {
    const { text } = one.turn;
    const place = ranked.length > 0 ? densestPlace(text, terms, most) : placeOfText(one.turn, question);
    return { ...one, preview: partAround(text, Math.max(0, place), most) };
  });
}

/** The turns that hold a text as it is, the newest first. */
function turnsWith(indexes: SaidTurns["indexes"], text: string, limit: number): RankedTurn[] {
  if (plainText(text.trim()) === "") return [];
  return indexes
    .flatMap(({ turns }) => turns.filter((turn) => placeOfText(turn, text) >= 0))
    .sort((a, b) => b.ts - a.ts)
    .slice(0, limit)
    .map((turn) => ({ turn, score: 0 }));
}

function placeOfText(turn: IndexedTurn, text: string): number {
  return plainText(turn.text).indexOf(plainText(text.trim()));
}
