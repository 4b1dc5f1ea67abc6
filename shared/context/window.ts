import type { ActivatedObject } from "../protocol/context-objects.ts";
import { type ContextCall, isContextTool } from "./context-calls.ts";

/** How long the results of calls are seen without anybody's saying so. */
export interface ContextWindow {
  /** Calls of the turn in progress. */
  calls: number;
  /** Turns, the one in progress included. */
  turns: number;
}

/** The calls that are recent: the last ones of the turn in progress, and all of the turns before it in the window. */
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

/** Whether what was activated still holds: a pin does, anything else for as many turns as the window has. */
export function stillHolds(
  { pinned, turn: since }: Pick<ActivatedObject, "pinned" | "turn">,
  turn: number,
  { turns }: ContextWindow,
): boolean {
  return pinned || since > turn - turns;
}
