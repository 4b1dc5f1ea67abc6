import { createHash } from "node:crypto";

/**
 * Hexadecimal digits of the hash that ends a changed or cut text: 96 bits, so that nobody can construct a
 * colliding id.
 */
const hashLength = 24;

/** A text that becomes part of a key with no other change than its letter case. */
const plainText = /^[A-Za-z0-9+\-_@.]*$/;

/** The end of a text that a hash was appended to. */
const hashEnd = new RegExp(`-[0-9a-f]{${hashLength}}$`);

/**
 * The ids of threads on the gateway's own channels, `{room}/{thread}`. `/` becomes `_`, which no id of these
 * channels contains, so such an id needs no hash to stay unique.
 */
const threadIds: ReadonlyMap<string, RegExp> = new Map([
  ["telegram", /^-?\d+\/\d+$/],
  ["slack", /^[a-z0-9]+\/\d+\.\d+$/],
  ["discord", /^\d+\/\d+$/],
]);

/** A-Z in lower case. Other letters stay: several of them have the lower case of an ASCII letter. */
export function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Lower case, without blanks at the ends, `_` for each character outside of `a-z 0-9 + - _ @ .`. */
export function normalizeToken(text: string | undefined): string {
  return (text ?? "")
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9+\-_@.]/gu, "_");
}

/**
 * A text as part of a key. Where normalizing changes more than letter case, a hash of the text is appended:
 * `a b` and `a_b` stay different. A part of a key is returned unchanged; an empty text stays empty.
 * @param channel the channel of an id, in lower case
 */
export function keyPart(text: string, channel?: string): string {
  const token = normalizeToken(text);
  const isKept = plainText.test(text) || isThreadId(text, channel);
  return isKept ? token : withHash(token || "unknown", lowerCase(text));
}

/**
 * An id from outside as part of a key. Like `keyPart`, but a hash is also appended to an id that looks like a
 * part that `keyPart` made of another id, and to an id that is `taken`. Nobody can choose an id that shares
 * the key of another id.
 * @param taken parts that belong to others: the names of the identity links
 */
export function peerPart(id: string, channel: string, taken: readonly string[] = []): string {
  const part = keyPart(id, channel);
  const isMade = plainText.test(id) && (hashEnd.test(part) || isThreadId(part.replace("_", "/"), channel));
  return isMade || taken.includes(part) ? withHash(part, part) : part;
}

/**
 * Cuts a text and appends a hash, so that different texts stay different. Normalized text is ASCII: length is
 * bytes.
 */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return withHash(text.slice(0, maxLength - hashLength - 1), text);
}

function isThreadId(id: string, channel: string | undefined): boolean {
  return channel !== undefined && (threadIds.get(channel)?.test(lowerCase(id)) ?? false);
}

function withHash(start: string, hashed: string): string {
  return `${start}-${createHash("sha256").update(hashed).digest("hex").slice(0, hashLength)}`;
}
