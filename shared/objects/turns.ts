import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
  type UserMessage,
} from "../protocol/messages.ts";
import type { CallLine, Turn, TurnsLine } from "../protocol/objects.ts";
import { argsDisplay, resultText } from "./toolcall.ts";

/**
 * The turns of a conversation: one for each model step, each user message without a reply, and each sequence of results that
 * follows neither. `toMessages` restores the messages.
 */
export function toTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  let open: Turn | undefined;
  const begin = (turn: Turn) => {
    open = turn;
    turns.push(turn);
  };
  for (const message of messages) {
    if (message.role === "user") begin(userTurn(message));
    else if (message.role === "toolResult") {
      if (!open) begin({ assistant: [], toolcall_ids: [] });
      open?.toolcall_ids.push(message.toolCallId);
    } else {
      const awaitsReply = open && open.assistant_meta === undefined && open.toolcall_ids.length === 0;
      if (!open || !awaitsReply) begin({ assistant: [], toolcall_ids: [] });
      if (open) Object.assign(open, replyFields(message));
    }
  }
  return turns.map(withOpenCalls);
}

function userTurn({ role, content, ...meta }: UserMessage): Turn {
  return { user: content, user_meta: meta, assistant: [], toolcall_ids: [] };
}

function replyFields({
  role,
  content,
  ...meta
}: AssistantMessage): Pick<Turn, "assistant" | "assistant_meta"> {
  return { assistant: content, assistant_meta: meta };
}

/** Appends the calls without a result to those with one. */
function withOpenCalls(turn: Turn): Turn {
  const answered = new Set(turn.toolcall_ids);
  const calls = turn.assistant.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
  const open = calls.filter((id) => !answered.has(id));
  if (open.length === 0) return turn;
  return { ...turn, toolcall_ids: [...turn.toolcall_ids, ...open], unanswered: open.length };
}

/**
 * The turns of the first n messages, for any n. Complete turns are the same objects for every n and must not be changed.
 */
export function turnsAt(messages: readonly Message[]): (n: number) => readonly Turn[] {
  const turns = toTurns(messages);
  let end = 0;
  const ends = turns.map((turn) => (end += messagesIn(turn)));
  return (n) => {
    const firstOpen = ends.findIndex((one) => one > n);
    const complete = firstOpen < 0 ? turns.length : firstOpen;
    return [...turns.slice(0, complete), ...toTurns(messages.slice(ends[complete - 1] ?? 0, n))];
  };
}

function messagesIn({ user_meta, assistant_meta, toolcall_ids, unanswered = 0 }: Turn): number {
  return (user_meta ? 1 : 0) + (assistant_meta ? 1 : 0) + toolcall_ids.length - unanswered;
}

/** The results of a conversation by the ids of their calls. A repeated id has its results in their order. */
export type Results = ReadonlyMap<string, readonly ToolResultMessage[]>;

export function resultsById(messages: readonly Message[]): Results {
  const results = new Map<string, ToolResultMessage[]>();
  for (const message of messages) {
    if (message.role !== "toolResult") continue;
    results.set(message.toolCallId, [...(results.get(message.toolCallId) ?? []), message]);
  }
  return results;
}

/**
 * The messages that turns were made from. A call without a result in `results` gets none.
 * @param results of the whole conversation, from `resultsById`
 */
export function toMessages(turns: readonly Turn[], results: Results): Message[] {
  const used = new Map<string, number>();
  const nextResult = (id: string): ToolResultMessage[] => {
    const place = used.get(id) ?? 0;
    used.set(id, place + 1);
    const result = results.get(id)?.[place];
    return result ? [result] : [];
  };
  return turns.flatMap((turn) => {
    const { user, user_meta, assistant, assistant_meta, toolcall_ids, unanswered = 0 } = turn;
    const messages: Message[] = [];
    if (user !== undefined && user_meta) messages.push({ role: "user", content: user, ...user_meta });
    if (assistant_meta) messages.push({ role: "assistant", content: assistant, ...assistant_meta });
    const answered = toolcall_ids.slice(0, toolcall_ids.length - unanswered);
    return [...messages, ...answered.flatMap(nextResult)];
  });
}

/**
 * A conversation as lines: the session, then each turn followed by the results of its calls. Nothing is lost:
 * `fromTurnLines` restores the messages.
 */
export function* toTurnLines(conversation: {
  agentId: string;
  sessionId: string;
  sessionKey?: string;
  messages: readonly Message[];
}): Generator<TurnsLine> {
  const { agentId, sessionId, sessionKey, messages } = conversation;
  const key = sessionKey === undefined ? {} : { session_key: sessionKey };
  yield { type: "session", version: 1, id: sessionId, agent_id: agentId, ...key };
  const results = messages.filter((message) => message.role === "toolResult");
  const calls = new Map(messages.flatMap(toolCallsOf).map((call) => [call.id, call]));
  let written = 0;
  for (const turn of toTurns(messages)) {
    yield { type: "turn", ...turn };
    const answered = turn.toolcall_ids.length - (turn.unanswered ?? 0);
    for (const result of results.slice(written, written + answered))
      yield toCallLine(result, calls.get(result.toolCallId));
    written += answered;
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

/** The messages that were exported as turns. Lines of other types are skipped. */
export function fromTurnLines(lines: readonly TurnsLine[]): Message[] {
  const results = lines.flatMap((line) => (line.type === "toolcall" ? [fromCallLine(line)] : []));
  const turns = lines.flatMap((line) => {
    if (line.type !== "turn") return [];
    const { type: _, ...turn } = line;
    return [turn];
  });
  return toMessages(turns, resultsById(results));
}

function fromCallLine({ id, tool, output, status, result_at }: CallLine): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: tool,
    content: output,
    isError: status === "fail",
    timestamp: result_at,
  };
}
