import type { ActivatedObject } from "../protocol/context-objects.ts";
import { type ContextCall, isContextTool } from "./context-calls.ts";

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
