/** Maximum characters (UTF-16 units) of one workspace file in a prompt. */
export const maxFileCharacters = 12_000;
/** Maximum characters of all workspace files in a prompt together. */
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
 * Distributes the prompt's space among workspace files, in the order of calls. The truncation marker is not
 * counted.
 */
export interface Budget {
  /**
   * The trimmed text, cut to the remaining space: its start followed by the marker, or with `keep: "end"` the
   * marker followed by its end, or the parts that a function chooses. Never splits a surrogate pair.
   */
  take(text: string, keep?: Keep): string;
  /** Space left for one more file, in characters. */
  room(): number;
}

export function createBudget(): Budget {
  let left = maxTotalCharacters;
  const room = () => Math.min(maxFileCharacters, left);
  return {
    room,
    take(text, keep = "start") {
      const whole = text.trim();
      if (whole.length <= room()) {
        left -= whole.length;
        return whole;
      }
      const { start, end } = cutOf(keep)(whole, room());
      left -= start.length + end.length;
      return [start, truncationMarker, end].filter(Boolean).join("\n");
    },
  };
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
