import type { Configuration } from "../configuration/schema.ts";
import type { Amounts } from "./amounts.ts";

/** What a provider is paid for. `guest`: a turn of somebody who is no owner. */
export type CallKind = "turn" | "guest" | "heartbeat" | "cron" | "maintenance";

/**
 * What a run may spend although a budget's limit is reached, because its owner allowed it; by the budget's id. `upTo`: what the
 * run may have spent then, in μ$ or tokens. `once`: only in this step.
 */
export type Allowances = Readonly<Record<string, { upTo: number; once?: true }>>;

/** On whose account a provider call goes. */
export interface Payer {
  kind: CallKind;
  agentId: string;
  /** The messaging platform of the run's message. */
  channel?: string;
  /** The id of the person who wrote it there. */
  senderId?: string;
  jobId?: string;
  /** Absent: the call belongs to no run. */
  runId?: string;
  /** Of the run. They count for rules with `ask`. */
  allowances?: Allowances;
  sessionKey: string;
}

export type BudgetRule = Configuration["budgets"]["rules"][number];

/** A rule as it applies to a call. μ$, or tokens. */
export interface Limit {
  rule: BudgetRule;
  /** The sum that it limits: in the day's item, or one that only the session knows. */
  scope: string;
  max: number;
}

const tokensSuffix = "#tokens";

/** The name of a sum in this rule's unit. */
export const inUnit = (scope: string, { tokens }: BudgetRule) =>
  tokens === undefined ? scope : scope + tokensSuffix;

export const isTokens = (scope: string) => scope.endsWith(tokensSuffix);

/** The sum that a rule limits for this payer; undefined when it does not apply. */
function scopeOf({ scope, of, per }: BudgetRule, payer: Payer): string | undefined {
  if (scope === "all") return scope;
  if (scope === "run") return payer.runId === undefined ? undefined : scope;
  const value = partOf(scope, payer);
  if (value === undefined || (of !== undefined && of !== value)) return undefined;
  return scope === "session" && per === "session" ? scope : `${scope}:${value}`;
}

function partOf(scope: Exclude<BudgetRule["scope"], "all" | "run">, payer: Payer): string | undefined {
  const { kind, agentId, channel, senderId, jobId, sessionKey } = payer;
  switch (scope) {
    case "kind":
      return kind;
    case "agent":
      return agentId;
    case "channel":
      return channel;
    case "sender":
      return channel && senderId ? `${channel}:${senderId}` : undefined;
    case "job":
      return jobId;
    case "session":
      return sessionKey;
  }
}

/** Whether only the session has this sum. */
export function isOwn(scope: string): "run" | "session" | undefined {
  return /^run(#|$)/.test(scope) ? "run" : /^session(#|$)/.test(scope) ? "session" : undefined;
}

/**
 * The limits of a call.
 * @param extra what was added to a rule's limit
 */
export function limitsOf(
  rules: readonly BudgetRule[],
  payer: Payer,
  extra: (rule: BudgetRule) => number,
): Limit[] {
  return rules.flatMap((rule) => {
    const scope = scopeOf(rule, payer);
    if (scope === undefined) return [];
    const max = (rule.tokens ?? Math.round((rule.usd ?? 0) * 1_000_000)) + extra(rule);
    return [{ rule, scope: inUnit(scope, rule), max }];
  });
}

/** What the owner has allowed a run to spend although this limit is reached, as a limit of the run's own sum. */
export function allowanceOf({ rule }: Limit, { allowances }: Payer): Limit | undefined {
  const allowed = allowances && Object.hasOwn(allowances, rule.id) ? allowances[rule.id] : undefined;
  return allowed && rule.atLimit === "ask" ? { rule, scope: ofRun(rule), max: allowed.upTo } : undefined;
}

/** The name of a run's sum in this rule's unit. */
export const ofRun = (rule: BudgetRule) => inUnit("run", rule);

/** The sums that a call counts to: the total, its kind, its run, and those that a rule limits. */
export function scopesOf(rules: readonly BudgetRule[], payer: Payer): string[] {
  const named = rules.flatMap((rule) => {
    const scope = scopeOf(rule, payer);
    const allowed = payer.allowances && Object.hasOwn(payer.allowances, rule.id) ? [ofRun(rule)] : [];
    return scope === undefined ? [] : [inUnit(scope, rule), ...allowed];
  });
  const kind = payer.kind === "turn" ? [] : [`kind:${payer.kind}`];
  const run = payer.runId === undefined ? [] : ["run"];
  return [...new Set(["all", ...kind, ...run, ...named])];
}

/** The price of one call, or its upper bound. */
export interface Price {
  micros: number;
  tokens: number;
}

/** The amounts of a call in its scopes. */
export function amountsOf(scopes: readonly string[], { micros, tokens }: Price): Amounts {
  return Object.fromEntries(scopes.map((scope) => [scope, isTokens(scope) ? tokens : micros]));
}
