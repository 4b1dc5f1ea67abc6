import { termsOf } from "./words.ts";

/** Length of a preview, in characters: the default, and the bounds of a requested one. */
export const previewCharacters = { usual: 200, least: 20, most: 4000 };

export interface Preview {
  text: string;
  /** Whether a part of the text is missing. */
  truncated: boolean;
}

const word = /[\p{L}\p{N}\p{M}]+/gu;

/**
 * The part of a text around a place, at most `max` characters. `…` marks omissions.
 * @param place in UTF-16 units
 */
export function partAround(text: string, place: number, max: number): Preview {
  const characters = [...text];
  if (characters.length <= max) return { text, truncated: false };
  const start = [...text.slice(0, place)].length - Math.floor(max / 4);
  const from = Math.max(0, Math.min(start, characters.length - max));
  const to = from + max;
  const part = characters.slice(from, to).join("");
  return { text: `${from > 0 ? "…" : ""}${part}${to < characters.length ? "…" : ""}`, truncated: true };
}

/** The start of the part with the most of these terms; 0 when the text has none of them. */
export function densestPlace(text: string, terms: ReadonlySet<string>, max: number): number {
  if (text.length <= max) return 0;
  const found: { at: number; term: string }[] = [];
  for (const match of text.matchAll(word))
    for (const term of termsOf(match[0])) if (terms.has(term)) found.push({ at: match.index, term });
  let best = { at: 0, count: 0 };
  for (const [i, { at }] of found.entries()) {
    const near = found.slice(i, i + 50).filter((other) => other.at < at + (max * 3) / 4);
    const count = new Set(near.map(({ term }) => term)).size;
    if (count > best.count) best = { at, count };
  }
  return best.at;
}
