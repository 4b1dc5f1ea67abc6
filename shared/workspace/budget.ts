/** Most characters (UTF-16 units) of one workspace file in a prompt. */
export const maxFileCharacters = 12_000;
/** Most characters of all workspace files in a prompt together. */
export const maxTotalCharacters = 60_000;

export const truncationMarker = "[truncated]";

/**
 * Hands out the prompt's room for workspace files, first come first served. The marker itself is not counted.
 */
export interface Budget {
  /**
   * The text, trimmed, or as much of it as there is room for: its start with the marker after it, or with
   * `keep: "end"` its end with the marker before it. A surrogate pair is never cut in two.
   */
  take(text: string, keep?: "start" | "end"): string;
  /** Room for one more file, in characters. */
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

/** The first `length` characters, one less where the cut would part a surrogate pair. */
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
