import { randomUUID } from "node:crypto";
import { code } from "../../../shared/protocol/errors.ts";
import { amountText, budgetLines } from "../../../shared/spend/usage-text.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { type BudgetRule, type RuleOptions, withRule } from "./budget-words.ts";

export const listBudgets: Action = async (context) => {
  const list = await (await context.gateway()).request("budget.list", {});
  context.print(list, budgetLines(list).join("\n"));
};

export const setBudgets: Action = async (context, { args, options }) => {
  const chosen: RuleOptions = {
    per: oneOf("--per", text(options.per), ["day", "month", "session"]),
    atLimit: oneOf("--at-limit", text(options.atLimit), ["warn", "refuse", "ask"]),
  };
  const gateway = await context.gateway();
  const answer = await gateway.request("config.get", { path: "budgets.rules" });
  // A gateway of an earlier version has no budgets, and refuses the change.
  const before = "value" in answer && Array.isArray(answer.value) ? (answer.value as BudgetRule[]) : [];
  const rules = args.reduce<BudgetRule[]>((all, assignment) => withRule(all, assignment, chosen), before);
  await gateway.request("config.set", { path: "budgets.rules", value: rules });
  const list = await gateway.request("budget.list", {});
  context.print(list, budgetLines(list).join("\n"));
};

export const raiseBudget: Action = async (context, { args: [id = "", given = ""] }) => {
  const gateway = await context.gateway();
  const { rules } = await gateway.request("budget.list", {});
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined) {
    const ids = rules.map((one) => one.id);
    throw new Failure(
      code.notFound,
      `there is no budget ${id}${didYouMean(id, ids)}; there are: ${ids.join(", ") || "none"}`,
    );
  }
  const [, number = ""] = /^\$?(\d+(?:\.\d+)?|\.\d+)(?:tokens?)?$/.exec(given) ?? [];
  if (!(Number(number) > 0)) throw usage(`${given} is not an amount; ${id} is in ${rule.unit}, as in 5`);
  const raise = { id, raiseId: randomUUID(), [rule.unit]: Number(number) };
  const raised = await gateway.request("budget.raise", raise);
  const until = rule.per === "month" ? "this month" : "today";
  const { limit } = raised.rule;
  context.print(raised, `${until}, the limit of ${id} is ${amountText(rule, limit)}`);
};

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  words: readonly T[],
): T | undefined {
  const found = words.find((word) => word === value);
  if (value === undefined || found !== undefined) return found;
  throw usage(`${name} must be ${words.join(", ")}, not ${value}`);
}
