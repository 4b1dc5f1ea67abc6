import { argsDisplay, type Call, callsOf, resultText } from "../objects/toolcall.ts";
import type { Message, ToolResultMessage } from "../protocol/messages.ts";

/** The tools with which the model says what it wants to see. They do not count among recent calls. */
export const contextTools = {
  activate: "gsv__activate",
  deactivate: "gsv__deactivate",
  pin: "gsv__pin",
} as const;

const contextToolNames = new Set<string>(
  Object.values(contextTools).flatMap((name) => [name, name.replace("gsv__", "")]),
);

/** Whether a call was of one of the context tools, by whichever of its names. */
export function isContextTool(name: string): boolean {
  return contextToolNames.has(name);
}

/** A call of the live conversation that has its result. */
export interface ContextCall {
  id: string;
  providerId?: string;
  tool: string;
  status: "ok" | "fail";
  /** Characters of the result's text; absent where it has none. */
  characters?: number;
  hasImage: boolean;
  /** Place of the result among the messages. */
  index: number;
  /** The turn that it belongs to, counted from 1. */
  turn: number;
  result: ToolResultMessage;
  /** As the model said them; absent where only the result is known. */
  args?: unknown;
}

/** A user message begins a turn, also where it follows another one. @returns the turn of each message, from 1 */
export function turnsOf(messages: readonly Message[]): number[] {
  let turn = 0;
  return messages.map(({ role }) => {
    if (role === "user") turn += 1;
    return Math.max(1, turn);
  });
}

/** The calls of a conversation that have a result, in the order of their results. */
export function contextCalls(messages: readonly Message[]): ContextCall[] {
  const turns = turnsOf(messages);
  return callsOf(messages)
    .flatMap((call) => contextCall(call, turns))
    .sort((a, b) => a.index - b.index);
}

function contextCall({ id, block, result, resultN }: Call, turns: readonly number[]): ContextCall[] {
  if (!result) return [];
  const index = (resultN ?? 0) - 1;
  const text = resultText(result);
  return [
    {
      id,
      ...(block?.providerId === undefined ? {} : { providerId: block.providerId }),
      tool: block?.name ?? result.toolName,
      status: result.isError ? "fail" : "ok",
      ...(text === null ? {} : { characters: text.length }),
      hasImage: result.content.some(({ type }) => type === "image"),
      index,
      turn: turns[index] ?? 1,
      result,
      ...(block ? { args: block.arguments } : {}),
    },
  ];
}

/** A call in one line: `laptop__Bash: "ls -la"`. */
export function titleOf({ tool, args }: Pick<ContextCall, "tool" | "args">): string {
  return argsDisplay(tool, args);
}
