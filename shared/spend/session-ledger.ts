import { randomInt } from "node:crypto";
import { minus, plus, writeAmounts } from "./amounts.ts";
import type { Book, Sums } from "./book.ts";
import { contribute } from "./counter.ts";
import { type DayView, type Entry, entryOf, readDay, writeEntry } from "./day-view.ts";
import { entryName } from "./entry-name.ts";
import type { UsedLimit } from "./fit.ts";
import { consider, type Found, nothingFound, openOf } from "./found.ts";
import {
  beginDay,
  charge,
  contributed,
  contributionOf,
  type Hold,
  heldOf,
  ofRun,
  type Paid,
  readPaid,
  release,
  reserve,
  writePaid,
} from "./paid.ts";
import { type Row, sumRows } from "./rows.ts";
import { isOwn, isTokens, type Limit, type Price } from "./rules.ts";

/** Attempts to change the day's item: each fails only because another process has changed it. */
const maxTries = 50;

/** In the stored text, before the day that is not settled yet. */
const daySeparator = "|";

/** What came of a write to the day's item: another holder has the session, or the reservation would pass a limit. */
export type Written = "stored" | "lost" | { limit: UsedLimit; sums: Sums };

/**
 * What one session has paid and reserved. Its truth is `paid`, which the session's commits store; the day's item gets a copy.
 */
export class Ledger {
  readonly #book: Book;
  readonly #name: string;
  readonly #isFenced: boolean;
  #epoch: number;
  #paid: Paid | undefined;
  #stored: string | undefined;
  /** Absent once this holder has contributed to the day. */
  #found: Found | undefined;
  /** Without a lease: the contribution that this process has found or written last. */
  #basis: Entry | undefined;
  #closing: Closing | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** The parameters are those of `SessionAccount`. */
  constructor(book: Book, sessionKey: string, epoch?: number, stored?: string) {
    this.#book = book;
    this.#isFenced = epoch !== undefined;
    this.#name = entryName(sessionKey, this.#isFenced);
    this.#epoch = epoch ?? 0;
    this.#stored = stored;
    const [paid, closing] = stored?.split(daySeparator).map(readPaid) ?? [];
    this.#paid = paid;
    if (closing) this.#closing = { paid: closing, found: closing };
    // Its call was interrupted: nobody knows what it cost.
    if (this.#paid?.hold) this.charge(this.#paid.hold, interruptedKey(this.#paid.hold));
    // Its writer may have counted further from the number that it had stored, so this charge must not count here.
    this.#found = this.#paid ? { ...this.#paid, n: paid?.n ?? 0 } : nothingFound;
  }

  /** What a commit of the session has to store; undefined when it is stored. */
  get unsaved(): string | undefined {
    const days = [this.#paid, this.#closing?.paid].flatMap((paid) => (paid ? [writePaid(paid)] : []));
    const text = days.join(daySeparator);
    return days.length === 0 || text === this.#stored ? undefined : text;
  }

  /** A commit has stored this. */
  saved(paid: string): void {
    this.#stored = paid;
  }

  /** A new conversation begins. */
  resetSession(): void {
    if (this.#paid) this.#paid = { ...this.#paid, session: {} };
  }

  /** The calls from now on belong to this run, or to none. */
  enterRun(runId: string | undefined): void {
    this.#paid = ofRun(this.#now, runId);
  }

  reserve(hold: Hold): void {
    this.#paid = this.#opened(reserve(this.#now, hold));
  }

  /** Releases a reservation whose call was not made. */
  release(): void {
    if (this.#paid?.hold) this.#paid = release(this.#paid);
  }

  /** Charges a reserved call. @param key of its row in the reports. Without a price: all that was reserved */
  charge(hold: Hold, key: string, price: Price = hold, row = estimatedRow(price)): void {
    this.#paid = charge(this.#now, hold, price, { key, numbers: row });
  }

  /** Makes the day's item show what was spent. @param ended the kind of a run that has ended */
  async settle(ended?: string): Promise<void> {
    await this.sums();
    const { run } = this.#now;
    const last = ended && run !== "" ? { kind: ended, micros: this.spentInRun() } : undefined;
    if (ended) this.enterRun(undefined);
    await this.write([], last);
  }

  get #now(): Paid {
    if (!this.#paid) throw new Error("an account is used before its day is known");
    return this.#paid;
  }

  /** The sums of the day, after what they say about this session was considered. */
  async sums(maxAgeMs?: number): Promise<Sums> {
    const { day, hold } = this.#paid ?? {};
    const sums = await this.#book.sums(maxAgeMs, hold ? { on: day } : { from: day });
    this.#enter(sums.day);
    return sums;
  }

  #enter(view: DayView): void {
    const before = this.#paid ?? beginDay(view.date);
    if (before.day < view.date) {
      this.#closing = { paid: before, found: this.#found };
      this.#basis = undefined;
      this.#found = nothingFound;
      this.#paid = beginDay(view.date, before);
    } else if (!this.#paid) this.#paid = before;
    const entry = entryOf(view, this.#name);
    if (entry && this.#isFenced) this.#foldLost(entry);
    else if (!this.#isFenced) this.#rebase(entry);
  }

  /** Charges the reservation of a holder that lost the lease before the session's item knew of it. */
  #foldLost(entry: Entry): void {
    if (!this.#found || entry.epoch >= this.#epoch) return;
    const { found, lost } = consider(this.#found, entry);
    this.#found = found;
    const paid = this.#now;
    if (Object.keys(lost).length > 0)
      this.#paid = this.#opened({
        ...paid,
        n: Math.max(paid.n, entry.n) + 1,
        spent: plus(paid.spent, lost),
      });
    else if (paid.open?.epoch === this.#epoch) this.#paid = this.#opened(paid);
  }

  #opened(paid: Paid): Paid {
    return this.#found && this.#isFenced ? { ...paid, open: openOf(this.#found, this.#epoch) } : paid;
  }

  /** Without a lease: continues from what other processes have added, under an epoch of its own. */
  #rebase(entry: Entry | undefined): void {
    if (this.#basis && entry && writeEntry(entry) === writeEntry(this.#basis)) return;
    if (this.#basis && !entry) return;
    const { epoch = 0, n = 0, amounts = {} } = entry ?? {};
    const paid = this.#now;
    const own = minus(paid.spent, this.#basis?.amounts ?? {});
    this.#epoch = epoch + 1 + randomInt(1_000_000);
    this.#paid = { ...paid, n: Math.max(paid.n, n), spent: plus(amounts, own) };
    this.#basis = entry ?? { epoch, n, amounts };
  }

  /** Whether a day has an entry of this session. */
  isCounted({ entries }: DayView): boolean {
    return entries.has(this.#name);
  }

  /** What the run in progress has spent. @param scope its sum: by default in μ$ */
  spentInRun(scope = "run"): number {
    return this.#now.runSpent[scope] ?? 0;
  }

  /** What is used of limits, by this session and the others. */
  used(limits: readonly Limit[], { day, earlier }: Sums): UsedLimit[] {
    const paid = this.#now;
    const entry = entryOf(day, this.#name)?.amounts ?? {};
    return limits.map((limit) => {
      const { scope, rule } = limit;
      if (isOwn(scope)) return { ...limit, used: { ...paid.session, ...paid.runSpent }[scope] ?? 0 };
      const others = (day.sums[scope] ?? 0) - (entry[scope] ?? 0);
      const before = rule.per === "month" ? (earlier.sums[scope] ?? 0) : 0;
      return { ...limit, used: before + others + (contributionOf(paid)[scope] ?? 0) };
    });
  }

  /** Writes the contribution to the day's item, one write after the other. @param limits of the reservation */
  write(limits: readonly Limit[], ended?: { kind: string; micros: number }): Promise<Written> {
    const next = this.#last.then(
      () => this.#write(limits, ended),
      () => this.#write(limits, ended),
    );
    this.#last = next.catch(() => {});
    return next;
  }

  async #write(limits: readonly Limit[], ended?: { kind: string; micros: number }): Promise<Written> {
    await this.#close();
    for (let tries = 0; tries < maxTries; tries++) {
      const sums = await this.sums(tries === 0 ? undefined : 0);
      const { day } = sums;
      const known = entryOf(day, this.#name);
      if (this.#isFenced && known && known.epoch > this.#epoch) return "lost";
      const paid = this.#now;
      const entry = { epoch: this.#epoch, n: paid.n, amounts: contributionOf(paid) };
      const rows = this.#isFenced ? missingRows(paid, known) : paid.rows;
      if (!known && paid.n === 0) return "stored";
      if (known !== undefined && writeEntry(known) === writeEntry(entry)) {
        // Nothing has changed, or this write has succeeded although its response was lost.
        if (tries > 0 || !ended) return this.#wrote(entry, paid.rows);
        entry.n += 1;
        this.#paid = { ...paid, n: entry.n };
      }
      const { hold } = paid;
      const shared = limits.filter(
        ({ scope, rule }) => hold && holds(hold, scope) && !isOwn(scope) && rule.atLimit !== "warn",
      );
      const passed = this.used(shared, sums).find(({ used, max }) => used > max);
      if (passed) {
        if (tries > 0) return { limit: passed, sums };
        continue;
      }
      const change = minus(entry.amounts, known?.amounts ?? {});
      const most = Object.fromEntries(
        shared.map(({ scope, max, rule }) => {
          const before = rule.per === "month" ? (sums.earlier.sums[scope] ?? 0) : 0;
          return [scope, max - before - (change[scope] ?? 0)];
        }),
      );
      const item = await contribute(this.#book.table, day, {
        name: this.#name,
        entry,
        held: heldOf(paid),
        rows: sumRows(rows),
        most,
        ...(ended ? { ended } : {}),
      });
      if (!item) continue;
      this.#book.see(day.date, item);
      return this.#wrote(entry, paid.rows);
    }
    throw new Error("the day's sums could not be changed");
  }

  #wrote(entry: Entry, rows: readonly Row[]): "stored" {
    this.#basis = entry;
    this.#found = undefined;
    this.#paid = contributed(this.#now, rows);
    return "stored";
  }

  /** Settles the last day of this account, on which nothing is spent any more. */
  async #close(): Promise<void> {
    const closing = this.#closing;
    if (!closing || !this.#isFenced) return;
    const { found, paid } = closing;
    const { day, n, spent } = paid;
    for (let tries = 0; tries < maxTries; tries++) {
      const view = await readDay(this.#book.table, day);
      const known = entryOf(view, this.#name);
      if (known && known.epoch > this.#epoch) break;
      const lost = found && known ? consider(found, known).lost : {};
      const entry = { epoch: this.#epoch, n, amounts: plus(spent, lost) };
      const rows = missingRows(paid, known);
      if (rows.length === 0 && writeAmounts(entry.amounts) === writeAmounts(known?.amounts ?? {})) break;
      const change = { name: this.#name, entry, held: {}, rows: sumRows(rows), most: {} };
      if (await contribute(this.#book.table, view, change)) break;
    }
    this.#closing = undefined;
  }
}

/** A day on which the session spends nothing any more, until the day's item shows what it has spent. */
interface Closing {
  paid: Paid;
  found: Found | undefined;
}

/** The rows that a session's entry in the day came without: each contribution has all rows until then. */
const missingRows = ({ rows }: Paid, known: Entry | undefined) =>
  known ? rows.filter(({ n }) => n > known.n) : rows;

/** Whether a reservation adds something to a sum: a free call passes each limit in dollars. */
const holds = ({ micros, tokens }: Hold, scope: string) => (isTokens(scope) ? tokens : micros) > 0;

/** The row of a call that an earlier holder of the lease has begun. */
function interruptedKey({ scopes }: Hold): string {
  const kind = scopes.find((scope) => scope.startsWith("kind:"))?.slice("kind:".length) ?? "turn";
  return `${kind}||||`;
}

/** The row of a call whose usage nobody knows. */
const estimatedRow = ({ micros }: Price): readonly number[] => [1, 0, 0, 0, 0, micros, 0, 0, 1];
