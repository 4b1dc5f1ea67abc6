import type { CostResult, Spending, SpendingOfAll } from "../../protocol/session-results.ts";
import { savedText } from "../../spend/usage-text.ts";
import { type CostContext, costOf } from "../spending.ts";

/** `/cost` as a text: the last turn, the conversation, and today. `withAll`: of all sessions today and this month, too. */
export async function costCommand(
  context: CostContext,
  sessionKey: string,
  withAll: boolean,
): Promise<string> {
  return costText(await costOf(context, sessionKey, withAll));
}

/** What a session's model calls took, as lines for people. */
export function costText({ turn, session, today, month }: CostResult): string {
  return [
    `Last turn: ${turn ? spendingText(turn) : "none yet"}`,
    `This conversation: ${spendingText(session)}`,
    `Today (${today.date}): ${spendingText(today.session)}`,
    ...(today.all ? [`Today, all sessions: ${allText(today.all)}`] : []),
    ...(month ? [`This month, all sessions: ${allText(month.all)}`] : []),
  ].join("\n");
}

function allText({ savedDollars = 0, ...spending }: SpendingOfAll): string {
  return `${spendingText(spending)}${savedText(savedDollars)}`;
}

/** One spending as a text, such as `3 calls, 12,345 in (11,000 cached), 678 out, $0.0421`. */
export function spendingText({ calls, input, output, cacheRead, cacheWrite, ...money }: Spending): string {
  if (calls === 0) return "nothing";
  const read = cacheRead > 0 ? ` (${tokenText(cacheRead)} from the cache)` : "";
  const tokens = `${tokenText(input + cacheRead + cacheWrite)} in${read}, ${tokenText(output)} out`;
  return `${calls} ${calls === 1 ? "call" : "calls"}, ${tokens}, ${moneyText(money)}`;
}

/** Dollars: `$0.0421`, `free`, `price unknown`, or `at least $0.0421` if the price of some calls is unknown. */
function moneyText({ dollars, unpriced }: Pick<Spending, "dollars" | "unpriced">): string {
  if (dollars === 0) return unpriced > 0 ? "price unknown" : "free";
  const shown =
    dollars > 0 && dollars < 0.0001 ? "less than $0.0001" : `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
  return unpriced > 0 ? `at least ${shown}` : shown;
}

/** A number of tokens with its thousands apart: `12,345`. */
export function tokenText(tokens: number): string {
  return tokens.toLocaleString("en-US");
}
