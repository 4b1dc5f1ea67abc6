/** Maximum characters (UTF-16 units) of one workspace file in a prompt. */
export const maxFileCharacters = 12_000;
/** Maximum characters of all workspace files and the list of skills in a prompt together. */
export const maxTotalCharacters = 60_000;

export const truncationMarker = "[truncated]";

/** The part of a long text to keep: its start, its end, or the parts that a function chooses. */
export type Keep = "start" | "end" | Cut;

/**
 * Chooses the parts to keep of a text of more than `room` characters: together at most `room`, with the marker between them.
 * Either may be empty.
 */
export type Cut = (text: string, room: number) => { start: string; end: string };

/**
 * Distributes the prompt's space among its sections. Each gets what it needs up to an equal share; what is left goes to the
 * first ones that need more.
 * @param sizes of the sections' texts, in their order, in characters
 * @returns the room of each, at most `maxFileCharacters`
 */
export function roomsFor(sizes: readonly number[]): number[] {
  const share = Math.floor(maxTotalCharacters / sizes.length);
  const needs = sizes.map((size) => Math.min(size, maxFileCharacters));
  let left = maxTotalCharacters - needs.reduce((sum, need) => sum + Math.min(need, share), 0);
  return needs.map((need) => {
    const more = Math.min(Math.max(0, need - share), left);
    left -= more;
    return Math.min(need, share) + more;
  });
}

/**
 * A file's text, cut to `room`: its start, the marker and the file's path, or with `keep: "end"` the marker and then its end,
 * or the parts that a function chooses. The marker is not counted. Never splits a surrogate pair.
 */
export function cutToRoom(text: string, room: number, path: string, keep: Keep = "start"): string {
  if (text.length <= room) return text;
  const { start, end } = cutOf(keep)(text, room);
  return [start, `${truncationMarker} The rest is in ${path}.`, end].filter(Boolean).join("\n");
}

function cutOf(keep: Keep): Cut {
  if (keep === "start") return (text, room) => ({ start: head(text, room), end: "" });
  if (keep === "end") return (text, room) => ({ start: "", end: tail(text, room) });
  return keep;
}

/** The first `length` UTF-16 units; one less when the cut would split a surrogate pair. */
export function head(text: string, length: number): string {
  const parts = splitsPair(text, length);
  return text.slice(0, parts ? length - 1 : length);
}

/** The last `length` UTF-16 units; one less when the cut would split a surrogate pair. */
export function tail(text: string, length: number): string {
  const start = text.length - length;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
