import { termsOf } from "./words/words.ts";

/** Length of a preview, in characters: without a wish, and the bounds of one. */
export const previewCharacters = { usual: 200, least: 20, most: 4000 };

export interface Preview {
  text: string;
  /** Whether anything of the text is missing. */
  truncated: boolean;
}

const word = /[\p{L}\p{N}\p{M}]+/gu;

/** The beginning of a text, at most `most` characters, and `…` when there is more. */
export function beginning(text: string, most: number): Preview {
  // A character takes at most two units of UTF-16.
  const characters = [...text.slice(0, 2 * most + 2)];
  if (characters.length <= most) return { text, truncated: false };
  return { text: `${characters.slice(0, most).join("")}…`, truncated: true };
}

/**
 * The part of a text around a place, at most `most` characters. `…` stands for what is left out.
 * @param place in units of UTF-16
 */
export function partAround(text: string, place: number, most: number): Preview {
  const characters = [...text];
  if (characters.length <= most) return { text, truncated: false };
  const start = [...text.slice(0, place)].length - Math.floor(most / 4);
  const from = Math.max(0, Math.min(start, characters.length - most));
  const to = from + most;
  const part = characters.slice(from, to).join("");
  return { text: `${from > 0 ? "…" : ""}${part}${to < characters.length ? "…" : ""}`, truncated: true };
}

/** Where the part of a text begins that holds most of these terms; 0 when it has none of them. */
export function densestPlace(text: string, terms: ReadonlySet<string>, most: number): number {
  if (text.length <= most) return 0;
  const found: { at: number; term: string }[] = [];
  for (const match of text.matchAll(word))
    for (const term of termsOf(match[0])) if (terms.has(term)) found.push({ at: match.index, term });
  let best = { at: 0, count: 0 };
  for (const [i, { at }] of found.entries()) {
    const near = found.slice(i, i + 50).filter((other) => other.at < at + (most * 3) / 4);
    const count = new Set(near.map(({ term }) => term)).size;
    if (count > best.count) best = { at, count };
  }
  return best.at;
}
