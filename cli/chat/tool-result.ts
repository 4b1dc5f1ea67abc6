import { commandResult } from "../../shared/session/result-message.ts";
import { pairs } from "../app/columns.ts";

/**
 * Formats a tool's result for people. A string stays as it is; text blocks are joined; images are their type. Of a command
 * it is the output, with how it failed when it did; of a file its content; of a search a line for each match; of a native
 * tool its result or error. Names with plain values are a line each, anything else is indented JSON.
 */
export function toolResultText(result: unknown): string {
  const command = commandResult(result);
  if (command === undefined) return plainText(result);
  const ending = command.failure === undefined ? "" : `(${command.failure})`;
  return [command.output.replace(/\n$/, ""), ending].filter((part) => part !== "").join("\n");
}

/** The same of a result as a conversation holds it: as text, which is JSON unless a tool said otherwise. */
export function storedResultText(text: string): string {
  const value = parsed(text);
  return value === undefined ? text : (commandResult(value)?.output.replace(/\n$/, "") ?? plainText(value));
}

/** The value of a text that is a JSON object or list; undefined of any other. */
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
  if (!isObject(result)) return JSON.stringify(result, null, 2) ?? "";
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

/** A match of Glob, which is a path, or one of Grep. */
function matchText(match: unknown): string {
  if (!isObject(match)) return String(match);
  const { path, line, content } = match;
  return path === undefined ? JSON.stringify(match) : `${path}:${line}: ${content}`;
}

function blockText(block: unknown): string {
  if (!isObject(block)) return String(block);
  if (typeof block.text === "string") return block.text;
  return block.type === "image" ? `(image, ${block.mimeType})` : JSON.stringify(block);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
