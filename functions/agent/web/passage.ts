import { densestPlace, partAround } from "../../../shared/recall/preview.ts";
import { questionTerms } from "../../../shared/recall/ranking.ts";

/** A part of a long text, and how much of it is missing. */
export interface Passage {
  text: string;
  /** Characters of the whole text; absent when `text` is all of it. */
  length?: number;
}

/** The passage of a text with the most words of a query, or its beginning. @param max its length in characters */
export function passageOf(text: string, query: string | undefined, max: number): Passage {
  if (text.length <= max) return { text };
  const terms = new Set(questionTerms(query ?? ""));
  return { text: partAround(text, densestPlace(text, terms, max), max).text, length: text.length };
}
