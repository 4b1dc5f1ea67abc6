import type { AssistantMessage, Message, ToolResultMessage, UserMessage } from "../protocol/messages.ts";
import type { Turn } from "../protocol/objects.ts";

/**
 * The turns of a conversation: one for each model step, each user message without a reply, and results that follow
 * neither. `toMessages` makes the same messages of them again.
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
      const waits = open && open.assistant_meta === undefined && open.toolcall_ids.length === 0;
      if (!open || !waits) begin({ assistant: [], toolcall_ids: [] });
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

/** Names the calls without a result behind those with one. */
function withOpenCalls(turn: Turn): Turn {
  const answered = new Set(turn.toolcall_ids);
  const calls = turn.assistant.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
  const open = calls.filter((id) => !answered.has(id));
  if (open.length === 0) return turn;
  return { ...turn, toolcall_ids: [...turn.toolcall_ids, ...open], unanswered: open.length };
}

/** The results of a conversation by the ids of their calls. An id that came twice has its results in their order. */
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
 * The messages that turns were made of. A call whose result is not in `results` gets none.
 * @param results as `resultsById` gives them, of the whole conversation
 */
export function toMessages(turns: readonly Turn[], results: Results): Message[] {
  const taken = new Map<string, number>();
  const takeResult = (id: string): ToolResultMessage[] => {
    const place = taken.get(id) ?? 0;
    taken.set(id, place + 1);
    const result = results.get(id)?.[place];
    return result ? [result] : [];
  };
  return turns.flatMap((turn) => {
    const { user, user_meta, assistant, assistant_meta, toolcall_ids, unanswered = 0 } = turn;
    const said: Message[] = [];
    if (user !== undefined && user_meta) said.push({ role: "user", content: user, ...user_meta });
    if (assistant_meta) said.push({ role: "assistant", content: assistant, ...assistant_meta });
    const answered = toolcall_ids.slice(0, toolcall_ids.length - unanswered);
    return [...said, ...answered.flatMap(takeResult)];
  });
}
