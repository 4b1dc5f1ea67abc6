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
 * @returns the best first, at most `limit`
 */
export function findTurns(
  { indexes }: Pick<SaidTurns, "indexes">,
  question: string,
  limit: number,
  most: number,
): FoundTurn[] {
  const ranked = rankTurns(indexes, question, limit);
  if (ranked.length === 0) return turnsWith(indexes, question, limit, most);
  const terms = new Set(questionTerms(question));
  return ranked.map((one) => {
    const { text } = one.turn;
    return { ...one, preview: partAround(text, densestPlace(text, terms, most), most) };
  });
}

/** The turns that hold a text as it is, the newest first. */
function turnsWith(indexes: SaidTurns["indexes"], text: string, limit: number, most: number): FoundTurn[] {
  const wanted = plainText(text.trim());
  if (wanted === "") return [];
  const holds = (turn: IndexedTurn) => plainText(turn.text).includes(wanted);
  return indexes
    .flatMap(({ turns }) => turns.filter(holds))
    .sort((a, b) => b.ts - a.ts)
    .slice(0, limit)
    .map((turn) => {
      const place = plainText(turn.text).indexOf(wanted);
      return { turn, score: 0, preview: partAround(turn.text, place, most) };
    });
}
