import type { Configuration } from "../../../shared/configuration/schema.ts";
import { usage } from "../../app/failure.ts";

export type BudgetRule = Configuration["budgets"]["rules"][number];

/** The options of `gsv budget set`. */
export interface RuleOptions {
  per?: "day" | "month" | "session";
  atLimit?: BudgetRule["atLimit"];
}

const kinds = ["turn", "guest", "heartbeat", "cron", "maintenance"];
const scopes = ["kind", "agent", "channel", "sender", "job", "session"] as const;

/**
 * The rules after an assignment such as `day=2`, `agent:work=50000tokens` or `cron=off`.
 * @throws Failure (usage) naming what is wrong with it
 */
export function withRule(
  rules: readonly BudgetRule[],
  assignment: string,
  options: RuleOptions,
): BudgetRule[] {
  const [, name = "", value = ""] = /^([^=]+)=(.+)$/.exec(assignment) ?? [];
  if (name === "") throw usage(`${assignment} is not a budget; write it as in day=2`);
  const before = findRule(rules, name, options);
  const others = rules.filter((rule) => rule !== before);
  if (value === "off") {
    if (before) return others;
    throw usage(`there is no budget ${name}; there are: ${rules.map(({ id }) => id).join(", ") || "none"}`);
  }
  const limit = amountOf(value);
  if (limit === undefined)
    throw usage(`${value} is not an amount; write dollars as in 0.20, 50000tokens, or off`);
  const { usd: _, tokens: __, ...rule } = before ?? newRule(name, options);
  const { atLimit = rule.atLimit, per = rule.per } = options;
  const changed = { ...rule, ...limit, atLimit, ...(per === undefined ? {} : { per }) };
  return before ? rules.map((one) => (one === before ? changed : one)) : [...rules, changed];
}

/** A budget's id; one of a month beside the one of a day has an id of its own. */
function idOf(name: string, { per }: RuleOptions): string {
  const id = name.toLowerCase().replace(/[^a-z0-9_-]+/g, "-");
  return (per === "month" && name !== "month" ? `${id.slice(0, 58)}-month` : id).slice(0, 64);
}

function findRule(rules: readonly BudgetRule[], name: string, options: RuleOptions): BudgetRule | undefined {
  const exact = rules.find(
    ({ id, per }) => id === name && (options.per === undefined || options.per === per),
  );
  return exact ?? rules.find(({ id }) => id === idOf(name, options));
}

function newRule(name: string, options: RuleOptions): BudgetRule {
  const id = idOf(name, options);
  if (name === "day" || name === "month") {
    if (options.per !== undefined && options.per !== name) throw usage(`${name} is the budget of a ${name}`);
    return { id, scope: "all", per: name, atLimit: "ask" };
  }
  if (name === "run") return { id, scope: "run", atLimit: "ask" };
  if (kinds.includes(name)) {
    return { id, scope: "kind", of: name, per: "day", atLimit: name === "turn" ? "ask" : "refuse" };
  }
  const [, word, of] = /^([a-z]+)(?::(.+))?$/.exec(name) ?? [];
  const scope = scopes.find((one) => one === word);
  if (scope === undefined)
    throw usage(
      `there is no budget ${name}; a new one is day, month, run, ${kinds.join(", ")}, or ${scopes.slice(1).join(", ")}, alone or as in agent:work`,
    );
  return { id, scope, ...(of === undefined ? {} : { of }), per: "day", atLimit: "ask" };
}

/** `2`, `$0.20` or `50000tokens`. */
function amountOf(value: string): { usd: number } | { tokens: number } | undefined {
  const [, number = "", tokens] = /^\$?(\d+(?:\.\d+)?|\.\d+)(tokens?)?$/.exec(value) ?? [];
  if (number === "") return undefined;
  return tokens === undefined ? { usd: Number(number) } : { tokens: Number(number) };
}
