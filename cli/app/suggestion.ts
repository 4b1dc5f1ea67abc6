import { distance } from "fastest-levenshtein";

/** Most single-character changes between a mistyped word and the known word that is suggested for it. */
const maxChanges = 3;

/**
 * The known word that is most like a mistyped one, by the number of changed characters; upper and lower case count as
 * the same. Undefined when more than 3 characters, or half of the word, would have to change.
 */
export function closestWord(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.min(maxChanges, Math.floor(word.length / 2)) + 1;
  for (const candidate of known) {
    const changes = distance(word.toLowerCase(), candidate.toLowerCase());
    if (changes < least) [best, least] = [candidate, changes];
  }
  return best;
}

/** ` (did you mean list?)`, to stand behind a word that is not known; empty when no known word is like it. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const closest = closestWord(word, known);
  return closest === undefined ? "" : ` (did you mean ${closest}?)`;
}
