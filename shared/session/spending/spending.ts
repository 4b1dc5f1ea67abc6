import type { Usage } from "../../protocol/messages.ts";
import type { Spending } from "../../protocol/session-results.ts";
import { localTime } from "../../runtime/zoned-time.ts";
import type { Step } from "../../world/expression.ts";
import { assign, type SessionState, type StoredSpending } from "../state.ts";

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

/** The order in which the numbers of a period are written. Behind them comes the run of the turn, or the date of the day. */
const written = ["calls", "input", "output", "cacheRead", "cacheWrite", "dollars", "unpriced"] as const;

function write(spending: Spending, label = ""): string {
  return [...written.map((name) => Number(spending[name].toFixed(9))), label].join(" ").trimEnd();
}

function read(text: string | undefined): { spending: Spending; label: string } {
  const parts = text?.split(" ") ?? [];
  const spending = Object.fromEntries(written.map((name, i) => [name, Number(parts[i] ?? 0)]));
  return { spending: { ...nothingSpent, ...spending }, label: parts.slice(written.length).join(" ") };
}

/** The step that adds what model calls took to a session. It belongs to the commit that their outcome needs anyway. */
export function spendingStep({ spent }: Spent, added: Spending, { runId, now, timezone }: Occasion): Step {
  const { date } = localTime(now, timezone);
  const stored: StoredSpending = {
    ...(spent?.turn === undefined ? {} : { turn: spent.turn }),
    session: write(addSpending(read(spent?.session).spending, added)),
    day: write(addSpending(spentOn({ spent }, date), added), date),
  };
  if (runId === undefined) return assign("spent", stored);
  const before = turnSpent({ spent });
  const turn = addSpending(before?.runId === runId ? before : nothingSpent, added);
  return assign("spent", { ...stored, turn: write(turn, runId) });
}

/** What a session's item holds behind a reset: the day goes on. */
export function spentAfterReset({ day }: StoredSpending): StoredSpending {
  return { session: write(nothingSpent), day };
}

type Spent = Pick<SessionState, "spent">;

/** What a session has spent since its last reset. */
export function sessionSpent({ spent }: Spent): Spending {
  return read(spent?.session).spending;
}

/** What the last turn that the model has answered took; undefined before the first. */
export function turnSpent({ spent }: Spent): (Spending & { runId: string }) | undefined {
  if (spent?.turn === undefined) return undefined;
  const { spending, label } = read(spent.turn);
  return { ...spending, runId: label };
}

/** What a session has spent on a day. @param date `YYYY-MM-DD` in the user's timezone */
export function spentOn({ spent }: Spent, date: string): Spending {
  const { spending, label } = read(spent?.day);
  return label === date ? spending : nothingSpent;
}
