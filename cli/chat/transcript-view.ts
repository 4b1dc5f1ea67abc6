import { type Message, type ToolResultMessage, textOf, toolCallsOf } from "../../shared/protocol/messages.ts";
import { readCommandEnd } from "../../shared/session/command-end.ts";
import { commandResult } from "../../shared/session/result-message.ts";
import { moment } from "../app/columns.ts";
import { commandEnding, shortArguments } from "./tool-line.ts";
import { parsed, storedResultText } from "./tool-result.ts";

const maxResultLines = 20;

/**
 * Formats a stored message for display: a line with time and author, then the indented text. A tool call is a line
 * `⏵ tool arguments`. A tool result is how the call ended, and at most 20 lines of output.
 */
export function transcript(message: Message): string {
  const time = moment(message.timestamp);
  const text = textOf(message);
  switch (message.role) {
    case "user":
      return commandEndText(text, time) ?? `${time}  user\n${indent(text || "(no text)")}`;
    case "assistant": {
      const calls = toolCallsOf(message).map((call) =>
        `⏵ ${call.name} ${shortArguments(call.arguments)}`.trimEnd(),
      );
      const failure = message.errorMessage === undefined ? [] : [`✗ ${message.errorMessage}`];
      const lines = [...(text === "" ? [] : [text]), ...calls, ...failure];
      return `${time}  assistant\n${indent(lines.join("\n") || "(no text)")}`;
    }
    case "toolResult":
      return resultText(message, time);
  }
}

/** Formats the report on the end of a background command. Undefined for any other message. */
function commandEndText(text: string, time: string): string | undefined {
  const end = readCommandEnd(text);
  if (!end) return undefined;
  const output = end.result.output.trimEnd();
  const title = `${time}  background command on ${end.nodeId} ${commandEnding(end.result)}`;
  return output === "" ? title : `${title}\n${indent(firstLines(output))}`;
}

function resultText(message: ToolResultMessage, time: string): string {
  const command = commandResult(parsed(textOf(message)));
  const ending = command ? commandEnding(command) : message.isError ? "✗" : "✓";
  const shown = message.content.map((block) =>
    block.type === "text" ? storedResultText(block.text) : `(image, ${block.mimeType})`,
  );
  const lines = firstLines(shown.join("\n").trimEnd());
  const output = lines === "" ? "" : `\n${indent(lines)}`;
  return `${time}  ${message.toolName} ${ending}${output}`;
}

function firstLines(text: string): string {
  const lines = text.split("\n");
  const hidden = lines.length - maxResultLines;
  if (hidden > 0) lines.splice(maxResultLines, hidden, `… ${hidden} more ${hidden === 1 ? "line" : "lines"}`);
  return lines.join("\n");
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line}`.trimEnd())
    .join("\n");
}
