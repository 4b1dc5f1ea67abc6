import { localTime } from "../../runtime/zoned-time.ts";
import { readBudgets } from "../../spend/budget-state.ts";
import { readUsage } from "../../spend/usage-report.ts";
import { budgetLines, spentLines } from "../../spend/usage-text.ts";
import type { Writer } from "../inbox-entry.ts";
import { parseSessionKey } from "../key/session-key.ts";
import type { CostContext } from "../spending.ts";

/** `/budget`: what today and this month cost, and how much of each budget is used. In a room, others would read it. */
export async function budgetCommand(
  { table, configuration, now }: CostContext,
  sessionKey: string,
  { role }: Writer,
): Promise<{ response: string } | { error: string }> {
  const kind = parseSessionKey(sessionKey)?.peer.kind ?? "dm";
  if (role !== undefined && kind !== "dm")
    return { error: "Others can read this conversation; use /budget in a direct message." };
  const { userTimezone, budgets } = await configuration.load();
  const { date } = localTime(now(), userTimezone);
  const [usage, list] = await Promise.all([readUsage(table, date), readBudgets(table, date, budgets)]);
  return { response: [...spentLines(usage), ...budgetLines(list)].join("\n") };
}
