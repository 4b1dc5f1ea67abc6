import { createHash } from "node:crypto";
import type { Origins } from "../origins/origins.ts";
import { isTableRow, itemStart, type MarkdownBlock, readMarkdown, strikeCells } from "./markdown-blocks.ts";

/** One memory: a paragraph, a list item or a table row of MEMORY.md, USER.md or a day's notes. */
export interface MemoryLine {
  /** Derived from the text: the same text in two files is one memory. 16 hex digits. */
  id: string;
  text: string;
  /** Its file, relative to the workspace. */
  path: string;
  /** Number of its first line in the file, from 1 on. */
  line: number;
  /** Whose words the file contains, besides the owner's. */
  origins?: Origins;
  isStruck?: true;
  /** Of a struck-out one: the month in which it ended or was replaced, `YYYY-MM`. */
  ended?: string;
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

/** The memories of a file, without struck-out ones (`~~…~~`), code, headings and comments. */
export function readMemories(path: string, content: string): MemoryLine[] {
  return readBlocks(content).flatMap((block) => (block.isStruck ? [] : [memoryOf(path, block)]));
}

/** The memories of a file, including those of which it says until when they were true: `~~… (until 2026-11)~~`. */
export function readMemoriesWithEnded(path: string, content: string): MemoryLine[] {
  return readBlocks(content).flatMap((block) =>
    block.isStruck && block.until === undefined ? [] : [memoryOf(path, block)],
  );
}

/** The memories of a file, including struck-out ones. */
export function readAllMemories(path: string, content: string): MemoryLine[] {
  return readBlocks(content).map((block) => memoryOf(path, block));
}

function memoryOf(path: string, { text, first, isStruck, until }: MemoryBlock): MemoryLine {
  const ended = until === undefined ? {} : { ended: until };
  return { id: memoryId(text), text, path, line: first + 1, ...(isStruck ? { isStruck } : {}), ...ended };
}

/** The file without a memory. @param isStruckKept whether the memory stays where it is struck out */
export function withoutMemory(content: string, id: string, isStruckKept = false): string {
  const gone = new Set<number>();
  for (const { text, first, last, isStruck } of readBlocks(content))
    if (memoryId(text) === id && !(isStruck && isStruckKept)) for (let i = first; i <= last; i++) gone.add(i);
  if (gone.size === 0) return content;
  return content
    .split("\n")
    .filter((_, i) => !gone.has(i))
    .join("\n");
}

/**
 * The file with a memory struck out: it stays readable, but is no longer a memory.
 * @param until the month in which it ended, `YYYY-MM`
 */
export function withMemoryStruck(content: string, id: string, until?: string): string {
  const lines = content.split("\n");
  for (const { text, first, last, isStruck } of readBlocks(content)) {
    if (isStruck || memoryId(text) !== id) continue;
    if (isTableRow(lines[first] ?? "")) {
      lines[first] = strikeCells(lines[first] ?? "", untilText(until));
      continue;
    }
    const [start = ""] = itemStart.exec(lines[first] ?? "") ?? [];
    lines[first] = `${start}~~${lines[first]?.slice(start.length).trimStart()}`;
    lines[last] = `${lines[last]?.trimEnd()}${untilText(until)}~~`;
  }
  return lines.join("\n");
}

const untilText = (month: string | undefined) => (month === undefined ? "" : ` (until ${month})`);

/** The file with a struck-out memory as it was before. */
export function withMemoryRestored(content: string, id: string): string {
  const lines = content.split("\n");
  for (const { text, first, last, isStruck } of readBlocks(content)) {
    if (!isStruck || memoryId(text) !== id) continue;
    for (let i = first; i <= last; i++)
      lines[i] = (lines[i] ?? "").replaceAll("~~", "").replace(untilAtEnd, "$2");
  }
  return lines.join("\n");
}

/** When a struck-out memory ended, at the end of its line, before the end of a table's row. */
const untilAtEnd = / \(until (\d{4}-\d{2})\)(\s*\|?\s*)$/;

/** The file with a memory appended, unless it contains it. */
export function withMemory(content: string, text: string): string {
  const id = memoryId(text);
  if (readMemories("", content).some((memory) => memory.id === id)) return content;
  const start = content === "" || content.endsWith("\n") ? content : `${content}\n`;
  return `${start}- ${memoryText(text)}\n`;
}

/** A block whose text is a memory. */
interface MemoryBlock extends MarkdownBlock {
  isStruck: boolean;
  /** Of a struck-out one: the month in which it ended, if the file says it. */
  until?: string;
}

/** The memories of a Markdown text. A field without a value, an introduction (`Allergies:`) and a note in parentheses are none. */
function readBlocks(content: string): MemoryBlock[] {
  return readMarkdown(content).flatMap((block) => {
    const shown = withoutScore(block.text);
    const [, struck] = /^~~(.*)~~$/.exec(shown) ?? [];
    const isStruck = struck !== undefined;
    const [, until] = isStruck ? (untilAtEnd.exec(struck) ?? []) : [];
    const text = isStruck ? withoutScore(struck.replace(untilAtEnd, "").trim()) : shown;
    const isNone = text === "" || /:[*_]*$/.test(text) || /^_?\([^()]*\)_?$/.test(text);
    return isNone ? [] : [{ ...block, text, isStruck, ...(until === undefined ? {} : { until }) }];
  });
}
