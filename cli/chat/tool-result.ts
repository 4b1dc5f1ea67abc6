import { isRecord } from "../../shared/protocol/is-record.ts";
import { commandResult } from "../../shared/session/result-message.ts";
import { pairs } from "../app/columns.ts";

/**
 * Formats a tool's result for display: a command's output and failure, a file's content, a search's matches one per line,
 * a native tool's result or error. Strings are unchanged, text blocks are joined, images become their type. An object
 * of plain values becomes one line per field; anything else becomes indented JSON.
 */
export function toolResultText(result: unknown): string {
  const command = commandResult(result);
  if (command === undefined) return plainText(result);
  const ending = command.failure === undefined ? "" : `(${command.failure})`;
  return [command.output.replace(/\n$/, ""), ending].filter((part) => part !== "").join("\n");
}

/** Formats a stored result, which is text: JSON unless the tool returned a string. */
export function storedResultText(text: string): string {
  const value = parsed(text);
  return value === undefined ? text : (commandResult(value)?.output.replace(/\n$/, "") ?? plainText(value));
}

/** Parses a text that is a JSON object or list; undefined for any other text. */
export function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plainText(result: unknown): string {
  if (typeof result === "string") return result;
  if (!isRecord(result)) return JSON.stringify(result, null, 2) ?? "";
  const { content, matches, ok, error } = result;
  if (ok === false && typeof error === "string") return error;
  if (ok === true && "result" in result) return toolResultText(result.result);
  if (Array.isArray(content)) return content.map(blockText).join("\n");
  if (typeof content === "string") return content;
  if (Array.isArray(matches)) return matches.map(matchText).join("\n") || "(no matches)";
  const fields = Object.entries(result);
  if (fields.length === 0 || fields.some(([, value]) => typeof value === "object"))
    return JSON.stringify(result, null, 2);
  return pairs(fields.map(([name, value]) => [name, String(value)]));
}

/** Formats a match of Glob (a path) or of Grep. */
function matchText(match: unknown): string {
  if (!isRecord(match)) return String(match);
  const { path, line, content } = match;
  return path === undefined ? JSON.stringify(match) : `${path}:${line}: ${content}`;
}

function blockText(block: unknown): string {
  if (!isRecord(block)) return String(block);
  if (typeof block.text === "string") return block.text;
  return block.type === "image" ? `(image, ${block.mimeType})` : JSON.stringify(block);
}
