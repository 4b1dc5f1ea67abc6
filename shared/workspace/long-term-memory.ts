import { type Cut, head, tail } from "./budget.ts";

/** The heading of a section that dreaming has added: `## Dreamed 2026-04-23 03:00 UTC`. */
const dreamedHeading = /^##\s+Dreamed\b/;

/**
 * What a prompt keeps of a MEMORY.md that is too long: the start of what the agent has written, and the newest lines of
 * what dreaming has added, which are the last ones. What was dreamed gets the room that the rest leaves, and half of it in
 * any case.
 */
export const cutMemory: Cut = (text, room) => {
  const { written, dreamed } = split(text);
  const forDreamed = Math.min(dreamed.length, Math.max(Math.floor(room / 2), room - written.length));
  const end = newestLines(dreamed, forDreamed);
  return { start: head(written, room - end.length), end };
};

/** The sections that dreaming has added, and all others, each in their order. */
function split(text: string): { written: string; dreamed: string } {
  const written: string[] = [];
  const dreamed: string[] = [];
  let isDreamed = false;
  for (const line of text.split("\n")) {
    if (/^##?\s/.test(line)) isDreamed = dreamedHeading.test(line);
    (isDreamed ? dreamed : written).push(line);
  }
  return { written: written.join("\n").trim(), dreamed: dreamed.join("\n").trim() };
}

/** The last lines that fit; of a single line that does not, its end. */
function newestLines(text: string, room: number): string {
  if (text.length <= room) return text;
  const end = tail(text, room);
  const isWhole = text.at(-end.length - 1) === "\n";
  const line = end.indexOf("\n");
  return isWhole || line < 0 ? end : end.slice(line + 1);
}
