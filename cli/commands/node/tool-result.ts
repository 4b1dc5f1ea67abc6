import { commandResult } from "../../../shared/session/results/command-result.ts";

/**
 * Formats a tool's result for the terminal: a string unchanged, text blocks joined, images as their type, a
 * command's output with how it failed when it did, anything else as indented JSON.
 */
export function toolResultText(result: unknown): string {
  if (typeof result === "string") return result;
  if (!isObject(result)) return JSON.stringify(result, null, 2) ?? "";
  if (Array.isArray(result.content)) return result.content.map(blockText).join("\n");
  const command = commandResult(result);
  if (command) {
    const ending = command.failure === undefined ? "" : `(${command.failure})`;
    return [command.output.replace(/\n$/, ""), ending].filter((part) => part !== "").join("\n");
  }
  if (typeof result.content === "string") return result.content;
  return JSON.stringify(result, null, 2);
}

function blockText(block: unknown): string {
  if (!isObject(block)) return String(block);
  if (typeof block.text === "string") return block.text;
  return block.type === "image" ? `(image, ${block.mimeType})` : JSON.stringify(block);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
