import type { ConfigurationStore } from "../configuration/store.ts";
import type { Usage } from "../protocol/messages.ts";
import type { CostResult, Spending, SpendingOfAll } from "../protocol/session-results.ts";
import { noUsage, piUsage } from "../protocol/stored-message.ts";
import type { UsageFigures } from "../protocol/usage.ts";
import { localTime } from "../runtime/zoned-time.ts";
import { readUsage } from "../spend/usage-report.ts";
import type { Step } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import { readSession } from "./sessions.ts";
import { assign, type SessionState, type StoredSpending } from "./state.ts";

/** The spending before the first call. */
export const nothingSpent: Spending = {
  ...{ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  ...{ dollars: 0, unpriced: 0 },
};

/** The spending of one model call. */
export function spendingOf(usage: Usage = noUsage): Spending {
  const { input, output, cacheRead, cacheWrite, cost, unpriced } = piUsage(usage);
  return { calls: 1, input, output, cacheRead, cacheWrite, dollars: cost.total, unpriced: unpriced ? 1 : 0 };
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

/** When model calls were made, and for which run. Calls without a run belong to no turn. */
interface Occasion {
  runId?: string;
  /** Epoch ms. */
  now: number;
  timezone: string;
}

/** The order of a period's numbers in its text. The turn's run id or the day's date follows. */
const written = ["calls", "input", "output", "cacheRead", "cacheWrite", "dollars", "unpriced"] as const;

function write(spending: Spending, label = ""): string {
  return [...written.map((name) => Number(spending[name].toFixed(9))), label].join(" ").trimEnd();
}

function read(text: string | undefined): { spending: Spending; label: string } {
  const parts = text?.split(" ") ?? [];
  const spending = Object.fromEntries(written.map((name, i) => [name, Number(parts[i] ?? 0)]));
  return { spending: { ...nothingSpent, ...spending }, label: parts.slice(written.length).join(" ") };
}

/** The step that adds the spending of model calls to a session. It is part of the commit of their outcome. */
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

/** The spending in a session's item after a reset: the day's sum remains. */
export function spentAfterReset({ day }: StoredSpending): StoredSpending {
  return { session: write(nothingSpent), day };
}

type Spent = Pick<SessionState, "spent">;

/** What a session has spent since its last reset. */
function sessionSpent({ spent }: Spent): Spending {
  return read(spent?.session).spending;
}

/** The spending of the last turn that the model answered; undefined before the first. */
export function turnSpent({ spent }: Spent): (Spending & { runId: string }) | undefined {
  if (spent?.turn === undefined) return undefined;
  const { spending, label } = read(spent.turn);
  return { ...spending, runId: label };
}

/** What a session has spent on a day. @param date `YYYY-MM-DD` in the user's timezone */
function spentOn({ spent }: Spent, date: string): Spending {
  const { spending, label } = read(spent?.day);
  return label === date ? spending : nothingSpent;
}

/** The spending of a session. `withAll`: also what all sessions have spent today and this month. */
export async function costOf(
  { table, configuration, now }: CostContext,
  sessionKey: string,
  withAll: boolean,
): Promise<CostResult> {
  const { userTimezone } = await configuration.load();
  const { date } = localTime(now(), userTimezone);
  const [state, usage] = await Promise.all([
    readSession(table, sessionKey),
    withAll ? readUsage(table, date) : undefined,
  ]);
  const turn = state && turnSpent(state);
  return {
    sessionKey,
    ...(turn ? { turn } : {}),
    session: state ? sessionSpent(state) : nothingSpent,
    today: {
      date,
      session: state ? spentOn(state, date) : nothingSpent,
      ...(usage ? { all: ofAll(usage.today) } : {}),
    },
    ...(usage ? { month: { since: usage.month.since, all: ofAll(usage.month) } } : {}),
  };
}

function ofAll(figures: UsageFigures): SpendingOfAll {
  const { calls, input, output, cacheRead, cacheWrite, dollars, savedDollars } = figures;
  return { calls, input, output, cacheRead, cacheWrite, dollars, unpriced: 0, savedDollars };
}

/** The dependencies of `costOf`. */
export interface CostContext {
  table: Table;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}
