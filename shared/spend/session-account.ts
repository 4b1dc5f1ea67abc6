import { randomInt } from "node:crypto";
import { type Amounts, minus, plus } from "./amounts.ts";
import { type Book, extraOf, type Sums } from "./book.ts";
import { publicText, refusalText } from "./budget-refusal.ts";
import { contribute } from "./counter.ts";
import { type DayView, type Entry, entryOf, readDay, writeEntry } from "./day-view.ts";
import { entryName } from "./entry-name.ts";
import { type Bound, boundPrice, fitLimits, leastPrice, type UsedLimit } from "./fit.ts";
import {
  beginDay,
  charge,
  contributionOf,
  type Hold,
  ofRun,
  type Paid,
  readPaid,
  release,
  reserve,
  writePaid,
} from "./paid.ts";
import { type PricedUsage, type PriceList, priceOf, upperBound } from "./price.ts";
import { isOwn, isTokens, type Limit, limitsOf, type Payer, type Price, scopesOf } from "./rules.ts";

/** Attempts to change the day's item: each fails only because another process has changed it. */
const maxTries = 50;

/** Who pays for a call, and under which conditions. */
export interface Occasion {
  payer: Payer;
  /** `provider/id`, for the reports. */
  model: string;
  /** The call can be made later: it is refused near a limit. */
  isDeferrable?: boolean;
  /** Somebody who is no owner reads a refusal. */
  isPublic?: boolean;
}

/**
 * Whether a call may begin. `cap`: max tokens of its answer. `reserved`: resolves when the reservation is stored, to the reason
 * if it was refused; then the call has to end.
 */
export type Admission =
  | { status: "admitted"; hold: Hold; cap: number; reserved: Promise<string | undefined> }
  | { status: "refused"; error: string };

/** The most that a call can use, and the catalogue's prices of its model. */
export interface CallSize {
  inputTokens: number;
  /** Of the answer. */
  maxTokens: number;
  listed?: PriceList;
}

/**
 * What one session pays. Its truth is `paid`, which the session's commits store; the day's item gets a copy. Calls are made one
 * after the other.
 */
export class SessionAccount {
  readonly #book: Book;
  readonly #name: string;
  readonly #isFenced: boolean;
  #epoch: number;
  #paid: Paid | undefined;
  #stored: string | undefined;
  /** The number of calls that the session's item knew of. */
  #knownN: number;
  /** What the session had spent on this day before this holder's calls. */
  #before: Amounts;
  /** Without a lease: the contribution that this process has found or written last. */
  #basis: Entry | undefined;
  #prepared: Admission | undefined;
  #closing: (Entry & { day: string }) | undefined;
  #rows = new Map<string, readonly number[]>();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param epoch of the session's lease. Absent: the calls are made without it, and only the day's item counts them
   * @param stored what the session's item says
   */
  constructor(book: Book, sessionKey: string, epoch?: number, stored?: string) {
    this.#book = book;
    this.#isFenced = epoch !== undefined;
    this.#name = entryName(sessionKey, this.#isFenced);
    this.#epoch = epoch ?? 0;
    this.#stored = stored;
    this.#paid = stored === undefined ? undefined : readPaid(stored);
    this.#knownN = this.#paid?.n ?? 0;
    // Its call was interrupted: nobody knows what it cost.
    if (this.#paid?.hold) this.#charge(this.#paid.hold, interruptedKey(this.#paid.hold));
    this.#before = this.#paid?.spent ?? {};
  }

  /** What a commit of the session has to store; undefined when it is stored. */
  get unsaved(): string | undefined {
    const text = this.#paid && writePaid(this.#paid);
    return text === this.#stored ? undefined : text;
  }

  /** A commit has stored this. */
  saved(paid: string): void {
    this.#stored = paid;
  }

  /** A new conversation begins. */
  resetSession(): void {
    if (this.#paid) this.#paid = { ...this.#paid, session: {} };
  }

  /** Reserves a call. Far from every limit the reservation is stored while the call is being made. */
  async admit(occasion: Occasion, size: CallSize): Promise<Admission> {
    const { payer, isDeferrable = false, isPublic = false } = occasion;
    const budgets = await this.#book.budgets();
    const rules = budgets.enabled ? budgets.rules : [];
    const bound = boundOf(occasion, size, budgets);
    if (!bound) return { status: "refused", error: isPublic ? publicText : unpricedText(occasion.model) };
    let isFresh = false;
    for (;;) {
      const sums = await this.#sums(isFresh ? 0 : undefined);
      if (payer.runId !== undefined) this.#paid = ofRun(this.#now, payer.runId);
      const limits = limitsOf(rules, payer, extraOf(sums));
      const used = this.#used(limits, sums);
      const fitted = fitLimits(used, bound, sums.day.entries.size);
      if ("reached" in fitted || (isDeferrable && !fitted.isFar)) {
        // A limit may have been raised, and reservations may have been settled, since the sums were read.
        if (!isFresh) {
          isFresh = true;
          continue;
        }
        if (!("reached" in fitted)) return { status: "refused", error: deferredText };
        const { reached } = fitted;
        const least = leastPrice(bound);
        await this.#book.mark(sums.day, reached, payer.kind);
        const need = isTokens(reached.scope) ? least.tokens : least.micros;
        return { status: "refused", error: refusalText(reached, sums.day, need, { isPublic }) };
      }
      const price = boundPrice({ ...bound, cap: fitted.cap });
      const hold = { ...price, scopes: scopesOf(rules, payer) };
      this.#paid = reserve(this.#now, hold);
      const warned = this.#warn(used, sums.day, budgets.warnAt);
      const reserved = this.#inTurn(() => this.#write(limits)).finally(() => warned);
      if (fitted.isFar) {
        const refused = reserved.then((outcome) =>
          outcome === "stored" ? undefined : textOf(outcome, isPublic),
        );
        refused.catch(() => {});
        return { status: "admitted", hold, cap: fitted.cap, reserved: refused };
      }
      const outcome = await reserved;
      if (outcome === "stored")
        return { status: "admitted", hold, cap: fitted.cap, reserved: Promise.resolve(undefined) };
      this.#paid = release(this.#now);
      if (outcome === "lost") return { status: "refused", error: lostText };
      isFresh = true;
    }
  }

  /** Charges a reserved call by the provider's report. "nothing": it was refused. "unknown": the whole reservation is charged. */
  async charge(
    hold: Hold,
    occasion: Occasion,
    listed: PriceList | undefined,
    usage: PricedUsage | "nothing" | "unknown",
  ): Promise<void> {
    if (usage === "nothing") return this.release();
    const key = rowKey(occasion);
    if (usage === "unknown") return this.#charge(hold, key);
    const { micros, source, savedMicros } = priceOf(
      usage,
      listed,
      occasion.model,
      await this.#book.budgets(),
    );
    const { input, output, cacheRead, cacheWrite } = usage;
    const unknown = source === "unknown-estimate" ? 1 : 0;
    const row = [1, input, output, cacheRead, cacheWrite, micros, unknown, savedMicros];
    this.#charge(hold, key, { micros, tokens: input + output + cacheRead + cacheWrite }, row);
  }

  #charge(hold: Hold, key: string, price: Price = hold, row = interruptedRow(hold)): void {
    this.#paid = charge(this.#now, hold, price);
    const before = this.#rows.get(key);
    this.#rows.set(
      key,
      row.map((number, i) => number + (before?.[i] ?? 0)),
    );
  }

  /** As `admit`, for the next call, which then gets this reservation. */
  async prepare(occasion: Occasion, size: CallSize): Promise<Admission> {
    const admission = await this.admit(occasion, size);
    if (admission.status === "admitted") this.#prepared = admission;
    return admission;
  }

  /** The prepared reservation, once. */
  prepared(): Admission | undefined {
    const admission = this.#prepared;
    this.#prepared = undefined;
    return admission;
  }

  /** Releases a reservation whose call was not made. */
  release(): void {
    this.#prepared = undefined;
    if (this.#paid?.hold) this.#paid = release(this.#paid);
  }

  /** Makes the day's item show what was spent. @param ended the kind of a run that has ended */
  async settle(ended?: Payer): Promise<void> {
    await this.#sums();
    const { run, runSpent } = this.#now;
    const last = ended && run !== "" ? { kind: ended.kind, micros: runSpent.run ?? 0 } : undefined;
    if (ended) this.#paid = ofRun(this.#now, undefined);
    await this.#inTurn(() => this.#write([], last));
  }

  get #now(): Paid {
    if (!this.#paid) throw new Error("an account is used before its day is known");
    return this.#paid;
  }

  /** The sums of the account's day, after what they say about this account was considered. */
  async #sums(maxAgeMs?: number): Promise<Sums> {
    const sums = await this.#book.sums(maxAgeMs, this.#paid?.day);
    this.#enter(sums.day);
    return sums;
  }

  #enter(view: DayView): void {
    const before = this.#paid ?? beginDay(view.date);
    if (before.day < view.date) {
      const { day, n, spent } = before;
      if (n > 0) this.#closing = { day, epoch: this.#epoch, n, amounts: spent };
      this.#basis = undefined;
      this.#before = {};
      this.#paid = beginDay(view.date, before);
    } else if (!this.#paid) this.#paid = before;
    const entry = entryOf(view, this.#name);
    if (entry && this.#isFenced) this.#foldLost(entry);
    else if (!this.#isFenced) this.#rebase(entry);
  }

  /**
   * Charges the reservation of a holder that lost the lease before the session's item knew of it: its call may have been made.
   */
  #foldLost({ epoch, n, amounts }: Entry): void {
    if (epoch >= this.#epoch || n <= this.#knownN) return;
    const paid = this.#now;
    const more = Object.entries(minus(amounts, this.#before)).filter(([, amount]) => amount > 0);
    const lost = Object.fromEntries(more);
    this.#knownN = n;
    this.#before = plus(this.#before, lost);
    this.#paid = { ...paid, n: Math.max(paid.n, n + 1), spent: plus(paid.spent, lost) };
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

  #used(limits: readonly Limit[], { day, earlier }: Sums): UsedLimit[] {
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

  /** Tells the owner, once a day for each rule, that its limit is near. */
  async #warn(limits: readonly UsedLimit[], day: DayView, warnAt: number): Promise<void> {
    const near = limits.filter(({ scope, used, max }) => !isOwn(scope) && used > 0 && used >= warnAt * max);
    await Promise.all(near.map((limit) => this.#book.mark(day, limit)));
  }

  /** Writes the contribution to the day's item. @returns a limit when the reservation would pass it */
  async #write(
    limits: readonly Limit[],
    ended?: { kind: string; micros: number },
  ): Promise<"stored" | "lost" | { limit: UsedLimit; day: DayView }> {
    await this.#close();
    for (let tries = 0; tries < maxTries; tries++) {
      const sums = await this.#sums(tries === 0 ? undefined : 0);
      const { day } = sums;
      const known = entryOf(day, this.#name);
      if (this.#isFenced && known && known.epoch > this.#epoch) return "lost";
      const paid = this.#now;
      const entry = { epoch: this.#epoch, n: paid.n, amounts: contributionOf(paid) };
      const rows = this.#rows;
      if (!known && paid.n === 0) return "stored";
      if (known !== undefined && writeEntry(known) === writeEntry(entry)) {
        // Nothing has changed, or this write has succeeded although its response was lost.
        if (tries > 0 || (rows.size === 0 && !ended)) return this.#wrote(entry);
        entry.n += 1;
        this.#paid = { ...paid, n: entry.n };
      }
      const shared = paid.hold
        ? limits.filter(({ scope, rule }) => !isOwn(scope) && rule.atLimit !== "warn")
        : [];
      const passed = this.#used(shared, sums).find(({ used, max }) => used > max);
      if (passed) {
        if (tries > 0) return { limit: passed, day };
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
        rows,
        most,
        ...(ended ? { ended } : {}),
      });
      if (!item) continue;
      this.#book.see(day.date, item);
      return this.#wrote(entry);
    }
    throw new Error("the day's sums could not be changed");
  }

  #wrote(entry: Entry): "stored" {
    this.#basis = entry;
    this.#rows = new Map();
    return "stored";
  }

  /** Settles the last day of this account, on which nothing is spent any more. */
  async #close(): Promise<void> {
    const closing = this.#closing;
    if (!closing || !this.#isFenced) return;
    const { day, ...entry } = closing;
    for (let tries = 0; tries < maxTries; tries++) {
      const view = await readDay(this.#book.table, day);
      const known = entryOf(view, this.#name);
      // Nothing is lowered that a lost holder may have spent.
      if (!known || known.epoch > entry.epoch || known.n > entry.n || writeEntry(known) === writeEntry(entry))
        break;
      const change = { name: this.#name, entry, rows: new Map<string, readonly number[]>(), most: {} };
      if (await contribute(this.#book.table, view, change)) break;
    }
    this.#closing = undefined;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }
}

const unpricedText = (model: string) =>
  `budget: the price of ${model} is unknown, and budgets.unknownPrice is "refuse"; set budgets.prices`;
const deferredText = "budget: put off, because a limit is near";
const lostText = "budget: the session was taken over";

function textOf(outcome: "lost" | { limit: UsedLimit; day: DayView }, isPublic: boolean): string {
  if (outcome === "lost") return lostText;
  const { limit, day } = outcome;
  return refusalText(limit, day, Math.max(0, limit.used - limit.max), { isPublic });
}

function rowKey({ payer, model }: Occasion): string {
  const { kind, agentId, channel = "", jobId = "" } = payer;
  return [kind, agentId, channel, jobId, model].join("|");
}

/** The row of a call that an earlier holder of the lease has begun. */
function interruptedKey({ scopes }: Hold): string {
  const kind = scopes.find((scope) => scope.startsWith("kind:"))?.slice("kind:".length) ?? "turn";
  return `${kind}||||`;
}

/** The row of a call whose usage nobody knows. */
const interruptedRow = ({ micros }: Hold): readonly number[] => [1, 0, 0, 0, 0, micros, 1, 0];

function boundOf(
  { model }: Occasion,
  { inputTokens, maxTokens, listed }: CallSize,
  budgets: Awaited<ReturnType<Book["budgets"]>>,
): Bound | undefined {
  const rate = upperBound({ inputTokens }, listed, model, budgets);
  if (rate === "refused") return undefined;
  const { inputMicros, outputMicrosPerToken } = rate;
  return { inputTokens, cap: maxTokens, inputMicros, microsPerOutputToken: outputMicrosPerToken };
}
