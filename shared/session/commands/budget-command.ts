import { localTime } from "../../runtime/zoned-time.ts";
import { readBudgets } from "../../spend/budget-state.ts";
import { readUsage } from "../../spend/usage-report.ts";
import { budgetLines, spentLines } from "../../spend/usage-text.ts";
import type { CostContext } from "../spending.ts";

/** `/budget`: what today and this month cost, and how much of each budget is used. */
export async function budgetCommand({
  table,
  configuration,
  now,
}: CostContext): Promise<{ response: string }> {
  const settings = await configuration.load();
  const { date } = localTime(now(), settings.userTimezone);
  const [usage, list] = await Promise.all([readUsage(table, date), readBudgets(table, settings, now())]);
  return { response: [...spentLines(usage), ...budgetLines(list)].join("\n") };
}
