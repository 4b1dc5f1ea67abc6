import { createHash } from "node:crypto";
import { dateTerms } from "../recall/date-words.ts";
import { stopWords } from "../recall/stop-words.ts";
import { plainText, sentencesOf, termsOf } from "../recall/words.ts";
import { memoryId } from "./memory-line.ts";

/**
 * What is kept of a forgotten memory: hashes from which its text cannot be read. Empty `words` belong to a corrected memory,
 * whose tombstone matches only the same text.
 */
export interface Tombstone {
  words: string[];
  /** Its numbers, dates, names and negation. Older tombstones have none: their `words` contain all but the negation. */
  marks?: string[];
  /** Those of its marks that are names. */
  names?: string[];
}

/**
 * A text repeats a forgotten memory if it has this share of the memory's words, and if they are this share of its own words:
 * a longer text says something else ("Ada no longer lives in Bern, she moved to Basel").
 */
const sameWords = { ofForgotten: 0.8, ofText: 0.6 };

/** A word in a tombstone: the first digits of its hash. */
const wordDigits = 10;

/** The mark of a text that denies or ends something. No word is written like this. */
const negation = "¬";

const negations = new Set(
  (
    "no not nor never none without cannot stopped stops ended ends quit former formerly anymore " +
    "nunca sin ya jamas nicht kein keine keinen keiner nie ohne ne pas jamais sans non mai senza nao sem " +
    "niet geen nooit zonder не нет никогда без"
  ).split(" "),
);
const unspacedNegation = /[不没沒無无]|ない|ません|なかった|안 |않|없/u;

/** Capitalized words; the first group is present at the start of a sentence. */
const capitalizedWords =
  /(?:(^[^\p{L}\p{N}]*|[.!?:;–—]\s[^\p{L}\p{N}]*)|)(?<![\p{L}\p{M}])(\p{Lu}[\p{L}\p{M}]*)/gu;

/** The tombstone of a text. Hashes differ from agent to agent. */
export function tombstoneOf(agentId: string, text: string): Required<Tombstone> {
  const hashed = (words: readonly string[]) => [...new Set(words.map((word) => hash(agentId, word)))];
  const { numbers, names, opening } = marksOf(text);
  return {
    words: hashed(termsOf(text)),
    marks: hashed([...numbers, ...names, ...opening]),
    names: hashed([...names, ...opening]),
  };
}

/**
 * Returns a test for texts: the id of the forgotten memory that a text repeats, in the same or nearly the same words, or
 * undefined. A text with a number, date, name or negation that the forgotten one lacked is new.
 * @param tombs by the id of the forgotten memory
 */
export function matcherOf(
  agentId: string,
  tombs: ReadonlyMap<string, Tombstone>,
): (text: string) => string | undefined {
  const all = [...tombs].map(([id, { words, marks = [], names = [] }]) => {
    return { id, words: new Set(words), known: new Set([...words, ...marks]), names };
  });
  return (text) => {
    const same = memoryId(text);
    if (tombs.has(same)) return same;
    const said = new Set(termsOf(text).map((word) => hash(agentId, word)));
    const { numbers, names, opening } = marksOf(text);
    return all.find((gone) => {
      const isKnown = (word: string) => gone.known.has(hash(agentId, word));
      // The first word of a sentence is a name only in place of another name: "Zoe takes it", forgotten of Max.
      const isRenamed = gone.names.some((name) => !said.has(name));
      const fresh = [...numbers, ...names, ...(isRenamed ? opening : [])];
      return gone.words.size > 1 && repeats(gone.words, said) && fresh.every(isKnown);
    })?.id;
  };
}

/**
 * Returns a test for texts, stricter than `matcherOf`: whether a sentence has nearly all words of a forgotten or corrected
 * memory, with its numbers and names, whatever else it says.
 */
export function mentionsOf(
  agentId: string,
  tombs: ReadonlyMap<string, Tombstone>,
): (text: string) => boolean {
  const all = [...tombs.values()].filter(({ words }) => words.length > 0);
  return (text) =>
    tombs.has(memoryId(text)) ||
    sentencesOf(text).some((sentence) => {
      if (tombs.has(memoryId(sentence))) return true;
      const { numbers, names, opening } = marksOf(sentence);
      const said = new Set(
        [...termsOf(sentence), ...numbers, ...names, ...opening].map((word) => hash(agentId, word)),
      );
      return all.some(({ words, marks = [] }) => {
        const shared = words.filter((word) => said.has(word)).length;
        return shared >= sameWords.ofForgotten * words.length && marks.every((mark) => said.has(mark));
      });
    });
}

function repeats(gone: ReadonlySet<string>, said: ReadonlySet<string>): boolean {
  const shared = [...gone].filter((word) => said.has(word)).length;
  return shared >= sameWords.ofForgotten * gone.size && shared >= sameWords.ofText * said.size;
}

function hash(agentId: string, word: string): string {
  return createHash("sha256").update(`${agentId}\0${word}`).digest("hex").slice(0, wordDigits);
}

/** The words that make a sentence say something else. `opening`: capitalized first words of sentences, perhaps names. */
function marksOf(text: string): { numbers: string[]; names: string[]; opening: string[] } {
  const plain = plainText(text);
  const isNegated =
    /n['’]t(?!\p{L})/u.test(plain) ||
    unspacedNegation.test(plain) ||
    (plain.match(/[\p{L}\p{M}]+/gu) ?? []).some((word) => negations.has(word));
  const numbers = [
    ...(plain.match(/\d+(?:[.,:]\d+)*/g) ?? []),
    ...dateTerms(text),
    ...(isNegated ? [negation] : []),
  ];
  const [names, opening]: [string[], string[]] = [[], []];
  for (const [, start, word = ""] of text.matchAll(capitalizedWords)) {
    if (!stopWords.has(plainText(word))) (start === undefined ? names : opening).push(...termsOf(word));
  }
  return { numbers, names, opening };
}
