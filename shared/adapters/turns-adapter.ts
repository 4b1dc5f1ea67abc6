import { argsDisplay, resultText } from "../objects/toolcall.ts";
import { toMessages, toTurns } from "../objects/turns.ts";
import {
  type Message,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
} from "../protocol/messages.ts";
import type { CallLine, SessionLine, TurnLine, TurnsLine } from "../protocol/objects.ts";
import type { ExportedConversation } from "./adapter.ts";

/**
 * A conversation as turns and calls: a line for the session, then a line for each turn, and behind it one for each
 * result of its calls. Nothing is left out: `fromTurnLines` makes the same messages of it again.
 */
export function* toTurnLines(
  conversation: Pick<ExportedConversation, "agentId" | "sessionId" | "sessionKey" | "messages">,
): Generator<TurnsLine> {
  const { agentId, sessionId, sessionKey, messages } = conversation;
  yield {
    type: "session",
    version: 1,
    id: sessionId,
    agent_id: agentId,
    ...(sessionKey === undefined ? {} : { session_key: sessionKey }),
  } satisfies SessionLine;
  const results = messages.filter((message) => message.role === "toolResult");
  const calls = new Map(messages.flatMap(toolCallsOf).map((call) => [call.id, call]));
  let taken = 0;
  for (const turn of toTurns(messages)) {
    yield { type: "turn", ...turn } satisfies TurnLine;
    const answered = turn.toolcall_ids.length - (turn.unanswered ?? 0);
    for (const result of results.slice(taken, taken + answered))
      yield toCallLine(result, calls.get(result.toolCallId));
    taken += answered;
  }
}

function toCallLine(result: ToolResultMessage, call: ToolCallBlock | undefined): CallLine {
  const { toolCallId, toolName, content, isError, timestamp } = result;
  return {
    type: "toolcall",
    id: toolCallId,
    tool: toolName,
    args_display: argsDisplay(toolName, call?.arguments),
    status: isError ? "fail" : "ok",
    content: resultText(result),
    output: content,
    result_at: timestamp,
  };
}

/** The messages that were exported as turns. Lines of other types are left out. */
export function fromTurnLines(lines: readonly TurnsLine[]): Message[] {
  const results = new Map<string, ToolResultMessage[]>();
  for (const line of lines) {
    if (line.type !== "toolcall") continue;
    results.set(line.id, [...(results.get(line.id) ?? []), toResult(line)]);
  }
  const turns = lines.flatMap((line) => {
    if (line.type !== "turn") return [];
    const { type: _, ...turn } = line;
    return [turn];
  });
  return toMessages(turns, results);
}

function toResult({ id, tool, output, status, result_at }: CallLine): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: tool,
    content: output,
    isError: status === "fail",
    timestamp: result_at,
  };
}
