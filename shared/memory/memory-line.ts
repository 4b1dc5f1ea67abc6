import { createHash } from "node:crypto";

/** One memory: a line of a list in MEMORY.md or in a day's notes. */
export interface MemoryLine {
  /** Names the memory by its text: the same text in two files is one memory. 16 hex digits. */
  id: string;
  text: string;
  /** The file that holds it, relative to the workspace. */
  path: string;
  /** Number of its line in the file, from 1 on. */
  line: number;
}

/** How many hex digits of a hash name a memory. */
const idDigits = 16;

/** What dreaming writes behind a promoted memory: `_(score=0.42, hits=5, days=3)_`, in the diary ` — score 0.42, hits 5`. */
const scoreNote = /\s*(?:_\(score=[^)]*\)_| — score \d\.\d\d, hits \d+)\s*$/;

/** The id of a memory. Case, spaces, and a full stop at the end make no other memory. */
export function memoryId(text: string): string {
  return createHash("sha256").update(normalized(text)).digest("hex").slice(0, idDigits);
}

/** A memory's text as it stands in a file: one line, without spaces at its ends. */
export function memoryText(text: string): string {
  return text.normalize("NFC").replaceAll(/\s+/g, " ").trim();
}

function normalized(text: string): string {
  return memoryText(text.normalize("NFKC"))
    .toLowerCase()
    .replace(/[.。]$/, "");
}

/** The memories of a file. What is struck out (`~~…~~`), and what stands in a block of code, is none. */
export function readMemories(path: string, content: string): MemoryLine[] {
  return placesOf(content).flatMap(({ text, line }) =>
    /^~~.*~~$/.test(text) ? [] : [{ id: memoryId(text), text, path, line }],
  );
}

/** The file without a memory. */
export function withoutMemory(content: string, id: string): string {
  const gone = linesOfMemory(content, id);
  if (gone.size === 0) return content;
  return content
    .split("\n")
    .filter((_, i) => !gone.has(i + 1))
    .join("\n");
}

/** The file with a memory struck out. It stays readable, and is no memory any more. */
export function withMemoryStruck(content: string, id: string): string {
  const struck = linesOfMemory(content, id);
  const strike = (line: string) => line.replace(/^(\s{0,3}[-*] +)(.*?)\s*$/, "$1~~$2~~");
  return content
    .split("\n")
    .map((line, i) => (struck.has(i + 1) ? strike(line) : line))
    .join("\n");
}

/** The file with a memory at its end, unless it holds it. */
export function withMemory(content: string, text: string): string {
  if (linesOfMemory(content, memoryId(text)).size > 0) return content;
  const start = content === "" || content.endsWith("\n") ? content : `${content}\n`;
  return `${start}- ${memoryText(text)}\n`;
}

function linesOfMemory(content: string, id: string): ReadonlySet<number> {
  return new Set(readMemories("", content).flatMap((memory) => (memory.id === id ? [memory.line] : [])));
}

/** The items of lists in a text of Markdown, each on one line. */
function placesOf(content: string): { text: string; line: number }[] {
  let isCode = false;
  return content.split("\n").flatMap((whole, i) => {
    if (/^\s{0,3}(```|~~~)/.test(whole)) isCode = !isCode;
    const [, item] = /^\s{0,3}[-*] +(\S.*)$/.exec(whole) ?? [];
    const text = item === undefined || isCode ? "" : item.replace(scoreNote, "").trim();
    return text === "" ? [] : [{ text, line: i + 1 }];
  });
}
