import { createHash } from "node:crypto";
import type { Origins } from "../origins/origins.ts";

/** One memory: a list item in MEMORY.md or in a day's notes. */
export interface MemoryLine {
  /** Derived from the text: the same text in two files is one memory. 16 hex digits. */
  id: string;
  text: string;
  /** Its file, relative to the workspace. */
  path: string;
  /** Number of its line in the file, from 1 on. */
  line: number;
  /** Whose words the file contains, besides the owner's. */
  origins?: Origins;
}

/** Number of hex digits of a memory's id. */
const idDigits = 16;

/** The start of the suffix that dreaming adds to a promoted memory: `_(score=0.42, hits=5, days=3)_`. */
const scoreStart = "_(score=";

/** The suffix of a promoted memory in the diary. */
const diaryScore = / — score \d\.\d\d, hits \d+$/;

/** The id of a memory. It ignores case, spaces, and a full stop at the end. */
export function memoryId(text: string): string {
  return createHash("sha256").update(normalized(text)).digest("hex").slice(0, idDigits);
}

/** A memory's text as written to a file: one line, without surrounding spaces and without a score. */
export function memoryText(text: string): string {
  return withoutScore(text.normalize("NFC").replaceAll(/\s+/g, " ").trim());
}

function withoutScore(noted: string): string {
  const text = noted.replace(diaryScore, "");
  const at = text.lastIndexOf(scoreStart);
  return at >= 0 && text.indexOf(")", at) === text.length - 2 && text.endsWith(")_")
    ? text.slice(0, at).trimEnd()
    : text;
}

function normalized(text: string): string {
  return memoryText(text.normalize("NFKC"))
    .toLowerCase()
    .replace(/[.。]$/, "");
}

/** The memories of a file, without struck-out ones (`~~…~~`) and code blocks. */
export function readMemories(path: string, content: string): MemoryLine[] {
  return readLines(path, content).flatMap(({ isStruck, ...memory }) => (isStruck ? [] : [memory]));
}

/** The memories of a file, including struck-out ones. */
export function readAllMemories(path: string, content: string): MemoryLine[] {
  return readLines(path, content).map(({ isStruck: _, ...memory }) => memory);
}

/** The file without a memory, whether or not it is struck out. */
export function withoutMemory(content: string, id: string): string {
  const gone = linesOf(readAllMemories("", content), id);
  if (gone.size === 0) return content;
  return content
    .split("\n")
    .filter((_, i) => !gone.has(i + 1))
    .join("\n");
}

/** The file with a memory struck out: it stays readable, but is no longer a memory. */
export function withMemoryStruck(content: string, id: string): string {
  const struck = linesOf(readMemories("", content), id);
  return content
    .split("\n")
    .map((line, i) => (struck.has(i + 1) ? strike(line.trimEnd()) : line))
    .join("\n");
}

function strike(line: string): string {
  const [start = ""] = /^\s{0,3}[-*] +/.exec(line) ?? [];
  return `${start}~~${line.slice(start.length)}~~`;
}

/** The file with a memory appended, unless it contains it. */
export function withMemory(content: string, text: string): string {
  if (linesOf(readMemories("", content), memoryId(text)).size > 0) return content;
  const start = content === "" || content.endsWith("\n") ? content : `${content}\n`;
  return `${start}- ${memoryText(text)}\n`;
}

function linesOf(memories: readonly MemoryLine[], id: string): ReadonlySet<number> {
  return new Set(memories.flatMap((memory) => (memory.id === id ? [memory.line] : [])));
}

/** The list items of a Markdown text, each on one line. */
function readLines(path: string, content: string): (MemoryLine & { isStruck: boolean })[] {
  let isCode = false;
  return content.split("\n").flatMap((whole, i) => {
    if (/^\s{0,3}(```|~~~)/.test(whole)) isCode = !isCode;
    const [, item = ""] = /^\s{0,3}[-*] +(\S.*)$/.exec(whole) ?? [];
    const shown = isCode ? "" : withoutScore(item.trim());
    const isStruck = /^~~.*~~$/.test(shown);
    const text = isStruck ? withoutScore(shown.slice(2, -2).trim()) : shown;
    return text === "" ? [] : [{ id: memoryId(text), text, path, line: i + 1, isStruck }];
  });
}
