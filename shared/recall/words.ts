import { stemmer } from "stemmer";
import { stopWords } from "./stop-words.ts";

/** Scripts without spaces between words. */
const unspaced =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー々";
const anyUnspaced = new RegExp(`[${unspaced}]`, "u");
const unspacedRun = new RegExp(`[${unspaced}]+|[^${unspaced}]+`, "gu");
const run = /[\p{L}\p{N}\p{M}]+/gu;
/** Final vowels that differ between forms of a word in Spanish and related languages: recoge, recogió. */
const endVowels = /^(.{4,}?)[aeio]{1,2}$/;
const asciiRun = /[a-z0-9]+/g;
const accents = /[\u0300-\u036f]/g;
const nonAscii = /\P{ASCII}/u;

/** Maximum length of a searched word; the rest of a longer one, such as a key or an address, is ignored. */
const longestWord = 64;

/** Cached terms of words, because most words of a conversation repeat; empty for stop words. */
const known = new Map<string, string>();
const maxKnown = 50_000;

/**
 * Normalizes a text for search: lower case, no accents, one form of each character. Marks of other scripts than Latin,
 * Greek and Cyrillic stay, because they are part of the word there.
 */
export function plainText(text: string): string {
  const lower = text.toLowerCase();
  return nonAscii.test(lower) ? lower.normalize("NFKD").replace(accents, "").normalize("NFC") : lower;
}

/** The sentences of a text, without empty ones. */
export function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?])\s+|(?<=[。！？])|\n+/u).filter((sentence) => sentence.trim() !== "");
}

/**
 * The terms of a text, in order, with repeats. Words of a-z become their stem (Porter) without final vowels; stop words are
 * omitted. Text in scripts without spaces (Chinese, Japanese, Korean, Thai, …) becomes pairs of adjacent characters, a single
 * character stays.
 */
export function termsOf(text: string): string[] {
  const plain = plainText(text);
  const terms: string[] = [];
  if (!nonAscii.test(plain)) {
    for (const word of plain.match(asciiRun) ?? []) addWord(terms, word);
    return terms;
  }
  const mixed = anyUnspaced.test(plain);
  for (const word of plain.match(run) ?? []) {
    if (!mixed || !anyUnspaced.test(word)) addWord(terms, word);
    else for (const part of word.match(unspacedRun) ?? []) addPart(terms, part);
  }
  return terms;
}

function addPart(terms: string[], part: string): void {
  if (!anyUnspaced.test(part)) {
    addWord(terms, part);
    return;
  }
  const characters = [...part];
  if (characters.length === 1) terms.push(part);
  for (let i = 1; i < characters.length; i++) terms.push(`${characters[i - 1]}${characters[i]}`);
}

function addWord(terms: string[], word: string): void {
  const term = known.get(word) ?? termOf(word);
  if (term !== "") terms.push(term);
}

function termOf(word: string): string {
  const whole = word.slice(0, longestWord);
  const isStem = whole.length < 3 || !/^[a-z]+$/.test(whole);
  const term = stopWords.has(word) ? "" : isStem ? whole : stemmer(whole).replace(endVowels, "$1");
  if (known.size >= maxKnown) known.clear();
  known.set(word, term);
  return term;
}
