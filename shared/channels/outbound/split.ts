import { type Leaf, sliceLeaves, styleOf, textOf } from "./leaves.ts";

/** White space that is dropped at a cut outside of code. The next line keeps its indentation. */
const cutSpace = /^(?:[^\S\n]*\n)+|^[^\S\n]+/;

/** A cut between blocks, lines, sentences or words must leave at least this fraction of what fits. */
const minFraction = 1 / 3;

/** How a text becomes a message, and whether it is small enough. */
export interface Measure<R> {
  render(leaves: readonly Leaf[]): R;
  fits(rendered: R): boolean;
  /** Longest text of a message without formatting, in UTF-16 units; 2 or more. */
  maxText: number;
}

/**
 * Splits formatted text into messages, each as long as possible: cut between blocks, else between lines, sentences or words, else
 * between graphemes. What is cut keeps its styles in both messages. Only white space at the cuts and at the end is dropped; a text
 * of nothing else has no messages.
 */
export function* split<R>(leaves: readonly Leaf[], measure: Measure<R>): Generator<R> {
  const text = textOf(leaves).trimEnd();
  let start = text.trim() === "" ? text.length : 0;
  while (start < text.length) {
    // A grapheme may continue after the last character that fits.
    const nearby = text.slice(start, start + measure.maxText + 64);
    const part = sliceLeaves(leaves, start, start + nearby.length);
    const end = start + nearby.length === text.length ? nearby.length : -1;
    const cut = cutOf({ nearby, part, end }, measure);
    if (cut.end > 0) yield measure.render(sliceLeaves(part, 0, cut.end));
    start += cut.next;
  }
}

/** Splits a plain text into parts of at most `maxText` encoded UTF-16 units, like `split`. */
export function splitText(text: string, maxText: number, encode = (plain: string) => plain): string[] {
  const render = (leaves: readonly Leaf[]) => encode(textOf(leaves));
  return [...split([{ text, styles: [] }], { render, fits: (part) => part.length <= maxText, maxText })];
}

interface Nearby {
  /** The text from the last cut on, somewhat longer than what can fit. */
  nearby: string;
  part: readonly Leaf[];
  /** The end of the whole text; -1 if it is not near. */
  end: number;
}

/** Where the message ends, and where the next one begins. */
function cutOf<R>({ nearby, part, end }: Nearby, measure: Measure<R>): { end: number; next: number } {
  const isFit = (at: number) =>
    at > 0 && measure.fits(measure.render(sliceLeaves(part, 0, trimmed(nearby, at))));
  if (end > 0 && isFit(end)) return { end, next: end };
  const fitting = longestFit(Math.min(measure.maxText, nearby.length), isFit);
  const most = graphemeStart(nearby, fitting) || characterStart(nearby, fitting) || 1;
  const codes = codeRanges(part);
  const isInCode = (at: number) => codes.some(([from, to]) => at > from && at < to);
  const at = bestBorder(nearby, most, isInCode, isFit);
  const next = isInCode(at) ? at + (nearby[at] === "\n" ? 1 : 0) : skipSpace(nearby, at);
  return { end: trimmed(nearby, at), next: Math.max(next, at) };
}

/** The best place for a cut up to `most`. */
function bestBorder(
  nearby: string,
  most: number,
  isInCode: (at: number) => boolean,
  isFit: (at: number) => boolean,
): number {
  const first = Math.max(0, nearby.search(/\S/));
  const lines = indexes(nearby, /\n/g);
  const levels = [
    () => indexes(nearby, /\n[^\S\n]*\n/g).filter((at) => !isInCode(at)),
    () => lines,
    () => sentenceEnds(nearby, most).filter((at) => !isInCode(at)),
    () => indexes(nearby, /\s/g),
  ];
  for (const least of [most * minFraction, 0])
    for (const level of levels) {
      const isRight = (at: number) => at > first && at >= least && at <= most && isFit(at);
      const found = level().findLast(isRight);
      if (found !== undefined) return found;
    }
  return most;
}

function trimmed(text: string, at: number): number {
  return text.slice(0, at).trimEnd().length;
}

function skipSpace(text: string, at: number): number {
  return at + (text.slice(at).match(cutSpace)?.[0].length ?? 0);
}

function indexes(text: string, pattern: RegExp): number[] {
  return [...text.matchAll(pattern)].map(({ index }) => index);
}

/** Opened when a text is first split: a cold start spends milliseconds on a segmenter. */
const segmenters: Partial<Record<"sentence" | "grapheme", Intl.Segmenter>> = {};

function segmentsOf(text: string, granularity: "sentence" | "grapheme"): Intl.Segments {
  segmenters[granularity] ??= new Intl.Segmenter(undefined, { granularity });
  return segmenters[granularity].segment(text);
}

/** Where the sentences up to `most` end. */
function sentenceEnds(text: string, most: number): number[] {
  const ends: number[] = [];
  for (const { index, segment } of segmentsOf(text, "sentence")) {
    if (index + segment.length > most) break;
    ends.push(index + segment.length);
  }
  return ends;
}

/** The last border of a grapheme up to an offset. */
function graphemeStart(text: string, at: number): number {
  return segmentsOf(text, "grapheme").containing(at)?.index ?? at;
}

/** The last border of a character up to an offset: a grapheme can be longer than a message. */
function characterStart(text: string, at: number): number {
  return /^[\uDC00-\uDFFF]/.test(text.slice(at)) ? at - 1 : at;
}

/** The longest length up to `most` that fits, found by bisection; 0 if none does. */
function longestFit(most: number, isFit: (at: number) => boolean): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isFit(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where blocks of code are: first offset and end of each. */
function codeRanges(leaves: readonly Leaf[]): [number, number][] {
  const found: [number, number][] = [];
  let at = 0;
  for (const leaf of leaves) {
    if (styleOf(leaf, "pre")) found.push([at, at + leaf.text.length]);
    at += leaf.text.length;
  }
  return found;
}
