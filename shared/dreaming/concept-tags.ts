import { plainText } from "../recall/words/words.ts";
import { noTags, techTerms, unspacedTerms } from "./concept-words.ts";

/** Tags of one memory, and characters of a tag. A tag of a script without spaces may be shorter. */
const mostTags = 8;
const most = 32;
const least = { spaced: 3, unspaced: 2 };

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
/** A path, an address, or a name with `_`, `-`, `.` or a hump in it. */
const compound =
  /[\p{L}\p{N}_@~-]+(?:[/.:][\p{L}\p{N}_@~-]+)+|\p{L}[\p{L}\p{N}]*(?:[_-][\p{L}\p{N}]+)+|\p{Ll}+(?:\p{Lu}[\p{Ll}\p{N}]+)+/gu;
const isoDate = /^\d{4}-\d{2}(?:-\d{2})?(?:t[\d:.z+-]*)?$/;

let segmenter: Intl.Segmenter | undefined;

/**
 * What a text is about, in up to eight words: terms of its trade first, then names such as paths and identifiers, then its
 * other words, in the order in which they come. The same text has the same tags.
 */
export function conceptTags(text: string): string[] {
  const normal = text.normalize("NFKC");
  const words = [...wordsOf(normal.replace(compound, " "))];
  const compounds = normal.match(compound) ?? [];
  const terms = [...compounds, ...words].filter((word) => techTerms.has(plainText(word)));
  const found = unspacedTerms.filter((term) => normal.includes(term));
  const tags = new Set<string>();
  for (const candidate of [...found, ...terms, ...compounds, ...words]) {
    const tag = tagOf(candidate);
    if (tag !== undefined) tags.add(tag);
    if (tags.size >= mostTags) break;
  }
  return [...tags];
}

function* wordsOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter("und", { granularity: "word" });
  for (const { segment, isWordLike } of segmenter.segment(text)) if (isWordLike) yield segment;
}

/** Undefined for what is no tag: too short, too long, a number, a date, or a word that says nothing. */
function tagOf(word: string): string | undefined {
  const tag = word
    .toLowerCase()
    .replaceAll("_", "-")
    .replaceAll(/^-+|-+$/g, "");
  const length = [...tag].length;
  const isShort = length < (unspaced.test(tag) ? least.unspaced : least.spaced);
  if (isShort || length > most || /^[\d.,:-]+$/.test(tag) || isoDate.test(tag)) return undefined;
  return noTags.has(plainText(tag)) ? undefined : tag;
}
