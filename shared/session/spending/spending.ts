import type { Usage } from "../../protocol/messages.ts";
import type { Spending } from "../../protocol/session/session-cost.ts";
import { localTime } from "../../runtime/zoned-time.ts";
import type { Step } from "../../world/expression.ts";
import { assign, type SessionState } from "../state.ts";

/** The spending before the first call. */
export const nothingSpent: Spending = {
  ...{ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  ...{ dollars: 0, unpriced: 0 },
};

/** What one model call took. Without a report of its provider it is a call of unknown price. */
export function spendingOf(usage: Usage | undefined): Spending {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cost } = usage ?? {};
  const unpriced = cost === undefined ? 1 : 0;
  return { calls: 1, input, output, cacheRead, cacheWrite, dollars: cost ?? 0, unpriced };
}

export function addSpending(one: Spending, other: Spending): Spending {
  return {
    calls: one.calls + other.calls,
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    dollars: one.dollars + other.dollars,
    unpriced: one.unpriced + other.unpriced,
  };
}

/** When model calls were made, and for which run; without one they belong to no turn. */
interface Occasion {
  runId?: string;
  /** Epoch ms. */
  now: number;
  timezone: string;
}

/** The step that adds what model calls took to a session. It belongs to the commit that their outcome needs anyway. */
export function spendingStep(
  { spent }: Pick<SessionState, "spent">,
  added: Spending,
  { runId, now, timezone }: Occasion,
): Step {
  const { date } = localTime(now, timezone);
  const session = addSpending(spent?.session ?? nothingSpent, added);
  const day = { ...addSpending(spentOn({ spent }, date), added), date };
  if (runId === undefined) return assign("spent", { ...spent, session, day });
  const before = spent?.turn?.runId === runId ? spent.turn : nothingSpent;
  return assign("spent", { turn: { ...addSpending(before, added), runId }, session, day });
}

/** What a session has spent on a day. @param date `YYYY-MM-DD` in the user's timezone */
export function spentOn({ spent }: Pick<SessionState, "spent">, date: string): Spending {
  if (spent?.day.date !== date) return nothingSpent;
  const { date: _, ...spending } = spent.day;
  return spending;
}
