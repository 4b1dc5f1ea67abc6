/** Laying out text for an answer, with bounds on how long it gets. */

const mostLines = 200;
const mostCharacters = 8000;

/** A text in a code block whose fence is longer than any inside it. */
export function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** The beginning of a text, up to 200 lines and 8,000 characters, and how many lines are left out. */
export function headOf(text: string): { shown: string; hidden: number } {
  const lines = text.replace(/\n$/, "").split("\n");
  const kept = within(lines);
  if (kept === 0)
    return { shown: (lines[0] ?? "").slice(0, mostCharacters).toWellFormed(), hidden: lines.length - 1 };
  return { shown: lines.slice(0, kept).join("\n"), hidden: lines.length - kept };
}

/** The end of a text, with the same bounds. */
export function tailOf(text: string): { shown: string; hidden: number } {
  const lines = text.replace(/\n$/, "").split("\n");
  const kept = within(lines.toReversed());
  if (kept === 0)
    return { shown: (lines.at(-1) ?? "").slice(-mostCharacters).toWellFormed(), hidden: lines.length - 1 };
  return { shown: lines.slice(-kept).join("\n"), hidden: lines.length - kept };
}

/** How many of the first lines are within the bounds. */
function within(lines: string[]): number {
  let kept = 0;
  for (let room = mostCharacters; kept < Math.min(lines.length, mostLines); kept++) {
    room -= (lines[kept]?.length ?? 0) + 1;
    if (room < 0) break;
  }
  return kept;
}

/** `1 file`, `2 files`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
