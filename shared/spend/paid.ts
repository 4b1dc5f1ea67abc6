import { dayMs } from "../runtime/zoned-time.ts";
import { type Amounts, lengthen, plus, readAmounts, shorten, writeAmounts } from "./amounts.ts";
import { hashOf } from "./entry-name.ts";
import { type Open, readOpen, writeOpen } from "./found.ts";
import { type Row, readRows, writeRows } from "./rows.ts";
import { amountsOf, isOwn, type Price } from "./rules.ts";

/** Length of a run's hash, in characters. */
const hashLength = 4;

/** A reserved call: its upper bound, and the sums that it counts to. */
export interface Hold extends Price {
  scopes: readonly string[];
}

/** What a session has paid: the truth that a day's item repeats, see `day-view.ts`. */
export interface Paid {
  /** The day of `spent`, `YYYY-MM-DD`. */
  day: string;
  /** Counts the changes: each reservation and each charge. */
  n: number;
  spent: Amounts;
  /** Since the last reset, if a rule limits that. */
  session: Amounts;
  /** The run in progress as a hash, and what it has paid. Empty without a run. */
  run: string;
  runSpent: Amounts;
  /** Present while a call is in progress. A holder that finds it charges all of it: the call was interrupted. */
  hold?: Hold;
  /** Present until the day's item has the contribution of the holder that has written this. */
  open?: Open;
  /** The charged calls that the day's reports may not have yet. */
  rows: readonly Row[];
}

/** The state before the first call of a day. */
export function beginDay(day: string, before?: Paid): Paid {
  const { n = 0, session = {}, run = "", runSpent = {} } = before ?? {};
  return { day, n, spent: {}, session, run, runSpent, rows: [] };
}

/** With the totals of this run, which are zero before its first call. @param runId undefined: no run is in progress */
export function ofRun(paid: Paid, runId: string | undefined): Paid {
  const run = runId === undefined ? "" : hashOf(runId, hashLength);
  return run === paid.run ? paid : { ...paid, run, runSpent: {} };
}

/** After the reservation of a call. */
export function reserve(paid: Paid, hold: Hold): Paid {
  return { ...paid, n: paid.n + 1, hold };
}

/** After a reservation that was not used. */
export function release({ hold: _, ...paid }: Paid): Paid {
  return paid;
}

/** After the reserved call. @param row for the day's reports */
export function charge(paid: Paid, hold: Hold, price: Price, row: Omit<Row, "n">): Paid {
  const { n, spent, session, runSpent, rows, ...rest } = release(paid);
  const amounts = Object.entries(amountsOf(hold.scopes, price));
  const those = (own: "run" | "session" | undefined) =>
    Object.fromEntries(amounts.filter(([scope]) => isOwn(scope) === own));
  return {
    ...rest,
    n: n + 1,
    rows: [...rows, { n: n + 1, ...row }],
    spent: plus(spent, those(undefined)),
    session: plus(session, those("session")),
    runSpent: plus(runSpent, those("run")),
  };
}

/** After the day's item has got the contribution, with these rows. */
export function contributed({ open: _, rows, ...paid }: Paid, contributed: readonly Row[]): Paid {
  return { ...paid, rows: rows.filter((row) => !contributed.includes(row)) };
}

/** What the session contributes to its day: spent and reserved. */
export const contributionOf = (paid: Paid): Amounts => plus(paid.spent, heldOf(paid));

/** The reserved part of its contribution. */
export function heldOf({ hold }: Paid): Amounts {
  if (!hold) return {};
  const shared = hold.scopes.filter((scope) => isOwn(scope) === undefined);
  return amountsOf(shared, hold);
}

/**
 * As a session's item stores it. The item is written several times a turn and billed by its size, so this is one short text:
 * day, number of changes, the amounts, the run, the reserved call, what its holder had found, and the rows of reports.
 */
export function writePaid({ day, n, spent, session, run, runSpent, hold, open, rows }: Paid): string {
  const held = hold ? [hold.micros, hold.tokens, ...hold.scopes.map(shorten)].join(",") : "";
  const amounts = [spent, session, runSpent].map(writeAmounts);
  const opened = open ? writeOpen(open, amounts[0] ?? "") : "";
  const parts = [Date.parse(day) / dayMs, n, ...amounts, run, held, opened, writeRows(rows)];
  return parts.join(" ").trimEnd();
}

export function readPaid(text: string): Paid {
  const [day, n, spent = "", session = "", runSpent = "", run = "", held = "", opened = "", rows = ""] =
    text.split(" ");
  const [micros, tokens, ...scopes] = held.split(",");
  const hold = { micros: Number(micros), tokens: Number(tokens), scopes: scopes.map(lengthen) };
  return {
    ...{ day: new Date(Number(day) * dayMs).toISOString().slice(0, 10), n: Number(n), run },
    ...{ spent: readAmounts(spent), session: readAmounts(session), runSpent: readAmounts(runSpent) },
    rows: readRows(rows),
    ...(held === "" ? {} : { hold }),
    ...(opened === "" ? {} : { open: readOpen(opened, spent) }),
  };
}
