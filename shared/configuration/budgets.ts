import * as v from "valibot";
import { count } from "../protocol/schemas.ts";
import { plainName, text } from "./fields.ts";

/** US dollars, up to ten million. Of a price: per million tokens. */
export const dollars = v.pipe(
  v.number(),
  v.minValue(0, "expected dollars, such as 0.5"),
  v.maxValue(10_000_000, "expected at most 10000000 dollars"),
);

/** A model's prices. Absent: cached tokens cost as much as input, and writing them a quarter more. */
const modelPrice = v.strictObject({
  input: dollars,
  output: dollars,
  cacheRead: v.optional(dollars),
  cacheWrite: v.optional(dollars),
});

/** A limit on what the models of one scope may cost (docs/costs.md). */
const budgetRule = v.pipe(
  v.strictObject({
    id: plainName,
    /** `kind`: turn, guest, heartbeat, cron or maintenance. `run`: each message with all its model calls. */
    scope: v.picklist(["all", "kind", "agent", "channel", "sender", "job", "session", "run"]),
    /** Which one of the scope. A sender is `CHANNEL:ID`. Absent: each of them has this limit. */
    of: v.optional(text(256)),
    /** A session's period is also `session`: since its last reset. Default: a run's own, otherwise `day`. */
    per: v.optional(v.picklist(["day", "month", "session", "run"])),
    usd: v.optional(dollars),
    tokens: v.optional(count(1, 1_000_000_000_000)),
    /** `warn`: tell the owner and go on. `ask`: the owner is asked whether the run goes on. */
    atLimit: v.picklist(["warn", "refuse", "ask"]),
  }),
  v.check(
    ({ usd, tokens }) => (usd === undefined) !== (tokens === undefined),
    "expected either usd or tokens",
  ),
  v.check(({ scope, per }) => isPeriodOf(scope, per), "expected a period that the scope has"),
  v.check(
    ({ scope, of }) => of === undefined || (scope !== "all" && scope !== "run"),
    "this scope has no parts for of",
  ),
  v.check(
    ({ scope, of }) => scope !== "kind" || of === undefined || callKinds.includes(of),
    "expected of to be turn, guest, heartbeat, cron or maintenance",
  ),
);
const callKinds: readonly string[] = ["turn", "guest", "heartbeat", "cron", "maintenance"];

function isPeriodOf(scope: string, per: string | undefined): boolean {
  if (per === "session" || per === "run") return scope === per;
  return scope !== "run" || per === undefined;
}

/** What model calls may cost, and what they cost where no catalogue knows it. */
export const budgets = v.strictObject({
  enabled: v.boolean(),
  /** Share of a limit from which the owner is warned. */
  warnAt: v.pipe(v.number(), v.minValue(0.1, "expected 0.1 to 1"), v.maxValue(1, "expected 0.1 to 1")),
  /** The price of models that neither `prices` nor the catalogue knows, or `refuse`: they are not called. */
  unknownPrice: v.union(
    [v.strictObject({ input: dollars, output: dollars }), v.literal("refuse")],
    "expected input and output in dollars, or refuse",
  ),
  /** Prices by `PROVIDER/ID`, or by the address of a server for all its models. They override the catalogue. 0 is free. */
  prices: v.record(text(512), modelPrice),
  rules: v.pipe(
    v.array(budgetRule),
    v.maxLength(100, "expected at most 100 rules"),
    v.check(
      (rules) => new Set(rules.map(({ id }) => id)).size === rules.length,
      "two rules have the same id",
    ),
  ),
});
