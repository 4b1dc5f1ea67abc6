import { headOf, jsonBytes, tailOf } from "./truncate.ts";

/** Strings up to this many characters are never shortened. */
const shortChars = 200;

/**
 * Shortens a tool's result to at most `maxBytes` of JSON, so that the gateway accepts it. A result that fits
 * is returned unchanged. Otherwise images are replaced by a note, then the middle of the longest strings is
 * removed, then the end of lists. A shortened object gets `truncated: true`.
 */
export function fitResult(result: unknown, maxBytes: number): unknown {
  const fits = (value: unknown): boolean => jsonBytes(value) <= maxBytes;
  if (fits(result)) return result;
  if (typeof result === "string") return largestThatFits(maxBytes, (chars) => cutMiddle(result, chars), fits);

  const noImages = marked(
    reshape(result, { chars: Number.POSITIVE_INFINITY, items: Number.POSITIVE_INFINITY }),
  );
  if (fits(noImages)) return noImages;
  const cut = (chars: number, items: number): unknown => marked(reshape(result, { chars, items }));
  if (fits(cut(shortChars, maxBytes))) {
    return largestThatFits(maxBytes, (chars) => cut(Math.max(chars, shortChars), maxBytes), fits);
  }
  const shorter = largestThatFits(maxBytes, (items) => cut(shortChars, items), fits);
  if (fits(shorter)) return shorter;
  const json = JSON.stringify(result);
  return largestThatFits(maxBytes, (chars) => cutMiddle(json, chars), fits);
}

/** Returns `make(n)` for the largest n up to `max` whose result fits; `make(0)` when none fits. */
function largestThatFits(
  max: number,
  make: (n: number) => unknown,
  fits: (value: unknown) => boolean,
): unknown {
  let low = 0;
  let high = max;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(make(middle))) low = middle;
    else high = middle - 1;
  }
  return make(low);
}

/**
 * Removes the middle of a string longer than `chars`. A line in its place states the number of removed
 * characters.
 */
function cutMiddle(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = headOf(text, Math.ceil(chars / 2));
  const tail = tailOf(text, Math.floor(chars / 2));
  const missing = text.length - head.length - tail.length;
  return `${head}\n[… ${missing} characters left out here: the result is too large for one message …]\n${tail}`;
}

/** Copies a value: strings are shortened to `chars`, lists to `items`; images are replaced by a note. */
function reshape(value: unknown, limits: { chars: number; items: number }): unknown {
  if (typeof value === "string") return cutMiddle(value, limits.chars);
  if (Array.isArray(value)) return value.slice(0, limits.items).map((item) => reshape(item, limits));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  if ("type" in value && value.type === "image" && "data" in value) return imageNote(value);
  return Object.fromEntries(entries.map(([key, item]) => [key, reshape(item, limits)]));
}

function imageNote(image: { data?: unknown; mimeType?: unknown }): unknown {
  const bytes = typeof image.data === "string" ? Math.floor((image.data.length * 3) / 4) : 0;
  const text = `[image left out: ${String(image.mimeType)}, ${bytes} bytes is too large for one message; make it smaller]`;
  return { type: "text", text };
}

function marked(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { ...value, truncated: true }
    : value;
}
