/** Maximum characters (UTF-16 units) of one workspace file in a prompt. */
export const maxFileCharacters = 12_000;
/** Maximum characters of all workspace files in a prompt together. */
export const maxTotalCharacters = 60_000;

export const truncationMarker = "[truncated]";

/**
 * Distributes the prompt's space among workspace files, in the order of calls. The truncation marker is not
 * counted.
 */
export interface Budget {
  /**
   * The trimmed text, cut to the remaining space: its start followed by the marker, or with `keep: "end"` the
   * marker followed by its end. Never splits a surrogate pair.
   */
  take(text: string, keep?: "start" | "end"): string;
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
      const kept =
        whole.length <= room() ? whole : keep === "start" ? head(whole, room()) : tail(whole, room());
      left -= kept.length;
      if (kept.length === whole.length) return whole;
      return (keep === "start" ? [kept, truncationMarker] : [truncationMarker, kept])
        .filter(Boolean)
        .join("\n");
    },
  };
}

/** The first `length` UTF-16 units; one less when the cut would split a surrogate pair. */
export function head(text: string, length: number): string {
  const parts = splitsPair(text, length);
  return text.slice(0, parts ? length - 1 : length);
}

function tail(text: string, length: number): string {
  const start = text.length - length;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
