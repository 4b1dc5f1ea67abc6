import { argsDisplay, type Call, callsOf, resultText } from "../objects/toolcall.ts";
import type { ActivatedObject } from "../protocol/context-objects.ts";
import type { Message, ToolResultMessage } from "../protocol/messages.ts";

/** How long the model sees results without an activation. */
export interface ContextWindow {
  /** Number of calls of the current turn. */
  calls: number;
  /** Number of turns, including the current one. */
  turns: number;
}

/** The recent calls: the last ones of the current turn, and all calls of the earlier turns in the window. */
export function recentCalls(
  calls: readonly ContextCall[],
  turn: number,
  window: ContextWindow,
): ReadonlySet<ContextCall> {
  const counted = calls.filter(({ tool }) => !isContextTool(tool));
  const current = counted.filter((call) => call.turn === turn);
  const before = counted.filter((call) => call.turn < turn && call.turn > turn - window.turns);
  return new Set([...before, ...current.slice(Math.max(0, current.length - window.calls))]);
}

/** Whether an activation still applies: a pin always does, any other for the window's number of turns. */
export function stillHolds(
  { pinned, turn: since }: Pick<ActivatedObject, "pinned" | "turn">,
  turn: number,
  { turns }: ContextWindow,
): boolean {
  return pinned || since > turn - turns;
}

/** The tools with which the model chooses the objects that it sees. They do not count as recent calls. */
export const contextTools = {
  activate: "gsv__activate",
  deactivate: "gsv__deactivate",
  pin: "gsv__pin",
} as const;

const contextToolNames = new Set<string>(
  Object.values(contextTools).flatMap((name) => [name, name.replace("gsv__", "")]),
);

/** Whether a name is one of the context tools', with or without `gsv__`. */
export function isContextTool(name: string): boolean {
  return contextToolNames.has(name);
}

/** A call of the live conversation that has its result. */
export interface ContextCall {
  id: string;
  providerId?: string;
  tool: string;
  status: "ok" | "fail";
  /** Characters of the result's text; absent when it has none. */
  characters?: number;
  hasImage: boolean;
  /** Place of the result among the messages. */
  index: number;
  /** The turn that it belongs to, counted from 1. */
  turn: number;
  result: ToolResultMessage;
  /** As the model wrote them; absent when only the result is known. */
  args?: unknown;
}

/** The turn of each message, from 1. Every user message starts a turn, also after another one. */
export function turnNumbers(messages: readonly Message[]): number[] {
  let turn = 0;
  return messages.map(({ role }) => {
    if (role === "user") turn += 1;
    return Math.max(1, turn);
  });
}

/** The calls of a conversation that have a result, in the order of their results. */
export function contextCalls(messages: readonly Message[]): ContextCall[] {
  const turns = turnNumbers(messages);
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
