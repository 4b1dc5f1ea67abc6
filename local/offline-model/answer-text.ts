/** Limits of a quoted text. */
const maxLines = 200;
const mostCharacters = 8000;

/** A text in a code block whose fence is longer than any inside it. */
export function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/**
 * The beginning or the end of a text, up to 200 lines and about 8,000 characters.
 * @returns the text, and how many lines are left out
 */
export function bounded(text: string, part: "beginning" | "end"): { shown: string; hidden: number } {
  const lines = text.replace(/\n$/, "").split("\n");
  const ordered = part === "end" ? lines.toReversed() : lines;
  const kept: string[] = [];
  let room = mostCharacters;
  for (const line of ordered.slice(0, maxLines)) {
    room -= line.length + 1;
    if (room < 0 && kept.length > 0) break;
    kept.push(room < 0 ? `${line.slice(0, mostCharacters).toWellFormed()}…` : line);
  }
  const shown = (part === "end" ? kept.toReversed() : kept).join("\n");
  return { shown, hidden: lines.length - kept.length };
}

/** `1 file`, `2 files`. */
export function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}
