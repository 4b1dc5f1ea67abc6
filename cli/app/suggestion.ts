import { distance } from "fastest-levenshtein";

/** Max number of changed characters between a mistyped word and the suggestion. */
const maxChanges = 3;

/**
 * The known word closest to a mistyped one, by the number of changed characters, ignoring case. Undefined when more
 * than 3 characters, or more than half of the word, differ.
 */
export function closestWord(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = Math.min(maxChanges, Math.floor(word.length / 2)) + 1;
  for (const candidate of known) {
    const changes = distance(word.toLowerCase(), candidate.toLowerCase());
    if (changes < fewest) [best, fewest] = [candidate, changes];
  }
  return best;
}

/** ` (did you mean list?)`, to append to an unknown word. Empty when no known word is similar. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const closest = closestWord(word, known);
  return closest === undefined ? "" : ` (did you mean ${closest}?)`;
}
