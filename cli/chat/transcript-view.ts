import { type Message, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import { shorten } from "../app/columns.ts";

const mostResultLines = 20;

/**
 * Formats a stored message as plain text after its role. A tool call is a line `→ tool arguments`; a tool
 * result is `← tool` and at most 20 lines of its text.
 */
export function transcript(message: Message): string {
  const text = textOf(message);
  switch (message.role) {
    case "user":
      return `user: ${text || "(no text)"}`;
    case "assistant": {
      const lines = toolCallsOf(message).map((call) =>
        `→ ${call.name} ${shortArguments(call.arguments)}`.trimEnd(),
      );
      if (message.errorMessage) lines.push(`error: ${message.errorMessage}`);
      return [`assistant: ${text}`.trimEnd(), ...lines].join("\n");
    }
    case "toolResult":
      return `← ${message.toolName}${message.isError ? " failed" : ""}\n${indent(text)}`;
  }
}

const tellingArguments = ["command", "path", "pattern", "action", "query", "url"];

/**
 * Formats a call's arguments in at most `most` characters: only the `tellingArguments` when present, else all
 * as JSON.
 */
export function shortArguments(args: unknown, most = 72): string {
  if (args === undefined || args === null) return "";
  const named = new Map(typeof args === "object" ? Object.entries(args) : []);
  const told = tellingArguments.map((name) => named.get(name)).filter((value) => typeof value === "string");
  if (told.length > 0) return shorten(told.join(" "), most);
  return typeof args === "object" && named.size === 0 ? "" : shorten(JSON.stringify(args), most);
}

function indent(text: string): string {
  const lines = text.split("\n");
  const shown = lines.slice(0, mostResultLines).map((line) => `  ${line}`.trimEnd());
  if (lines.length > mostResultLines) shown.push(`  … ${lines.length - mostResultLines} more lines`);
  return shown.join("\n");
}
