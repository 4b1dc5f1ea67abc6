import type { BudgetRequester } from "../protocol/approvals.ts";
import { type Book, extraOf, type Sums } from "./book.ts";
import { publicText, refusalText, requesterOf } from "./budget-refusal.ts";
import type { DayView } from "./day-view.ts";
import { type Bound, boundPrice, fitLimits, leastPrice, type UsedLimit } from "./fit.ts";
import type { Hold } from "./paid.ts";
import { type CacheRetention, type PricedUsage, type PriceList, priceOf, upperBound } from "./price.ts";
import { allowanceOf, isOwn, isTokens, limitsOf, ofRun, type Payer, type Price, scopesOf } from "./rules.ts";
import { runawayOf } from "./runaway.ts";
import { Ledger, type Written } from "./session-ledger.ts";

type Budgets = Awaited<ReturnType<Book["budgets"]>>;

/** Attempts to reserve a call: others have reserved theirs in between. */
const maxTries = 5;

/** A provider that reports more tokens, or a price of more μ$, is not believed: a million dollars. */
const maxNumber = 1e12;

/** Who pays for a call, and under which conditions. */
export interface Occasion {
  payer: Payer;
  /** `provider/id`, for prices and reports. */
  model: string;
  /** The address of its server. A price of that address is the price of all its models. */
  server?: string | undefined;
  /** The call can be made later: it is refused near a limit. */
  isDeferrable?: boolean;
  /** Somebody who is no owner reads a refusal. */
  isPublic?: boolean;
}

/** Why a call may not be made. `ask`: the owner may be asked whether the run goes on. */
export interface Refusal {
  error: string;
  ask?: BudgetRequester;
}

/**
 * Whether a call may begin. `bound`: what it may cost; `cap`: max tokens of its answer, to fit the limits. `reserved`: resolves when the reservation is stored, to the reason
 * if it was refused; then the call has to end.
 */
export type Admission =
  | { status: "admitted"; hold: Hold; bound: Bound; cap: number; reserved: Promise<Refusal | undefined> }
  | ({ status: "refused" } & Refusal);

/** The most that a call can use, and the catalogue's prices of its model. */
export interface CallSize {
  inputTokens: number;
  /** Of the answer. */
  maxTokens: number;
  listed?: PriceList;
  /** Dollars besides those of the tokens. */
  fee?: number;
  /** Absent: it is not known. */
  cacheRetention?: CacheRetention;
}

/** Reserves and charges the calls of one session, which are made one after the other. */
export class SessionAccount {
  readonly #book: Book;
  readonly #ledger: Ledger;
  #prepared: Admission | undefined;

  /**
   * @param epoch of the session's lease. Absent: the calls are made without it, and only the day's item counts them
   * @param stored what the session's item says
   */
  constructor(book: Book, sessionKey: string, epoch?: number, stored?: string) {
    this.#book = book;
    this.#ledger = new Ledger(book, sessionKey, epoch, stored);
  }

  /** What a commit of the session has to store; undefined when it is stored. */
  get unsaved(): string | undefined {
    return this.#ledger.unsaved;
  }

  /** A commit has stored this. */
  saved(paid: string): void {
    this.#ledger.saved(paid);
  }

  /** A new conversation begins. */
  resetSession(): void {
    this.#ledger.resetSession();
  }

  /**
   * Reserves a call. Far from every limit the reservation is stored while the call is being made, except a session's first of a
   * day: the margin counts only sessions that the day knows. A free call reserves nothing.
   */
  async admit(occasion: Occasion, size: CallSize): Promise<Admission> {
    const { payer, isDeferrable = false, isPublic = false } = occasion;
    const refused = (refusal: Refusal) => ({ status: "refused", ...refusal }) as const;
    const budgets = pricedFor(occasion, await this.#book.budgets());
    const rules = budgets.enabled ? budgets.rules : [];
    const bound = boundOf(occasion, size, budgets);
    if (!bound) return refused({ error: isPublic ? publicText : unpricedText(occasion.model) });
    let isFresh = false;
    let outcome: Written = "lost";
    for (let tries = 0; tries < maxTries; tries++) {
      const sums = await this.#ledger.sums(isFresh ? 0 : undefined);
      if (payer.runId !== undefined) this.#ledger.enterRun(payer.runId);
      const used = this.#ledger.used(limitsOf(rules, payer, extraOf(sums)), sums);
      const limits = used.map((limit) => this.#allowed(limit, payer, sums));
      const fitted = fitLimits(limits, bound, sums.day.entries.size);
      if ("reached" in fitted || (isDeferrable && fitted.isNear)) {
        // A limit may have been raised, and reservations may have been settled, since the sums were read.
        if (!isFresh) {
          isFresh = true;
          continue;
        }
        if (!("reached" in fitted)) return refused({ error: deferredText });
        const reached = used.find(({ rule }) => rule.id === fitted.reached.rule.id) ?? fitted.reached;
        const least = leastPrice(bound);
        const need = isTokens(reached.scope) ? least.tokens : least.micros;
        await this.#book.mark(sums.day, reached, { by: payer.kind, need });
        return refused(this.#refusalOf(reached, sums, need, bound, occasion));
      }
      const price = boundPrice({ ...bound, cap: fitted.cap });
      const hold = { ...price, scopes: scopesOf(rules, payer) };
      this.#ledger.reserve(hold);
      const warned = this.#warn(used, sums.day, budgets, payer);
      if (isFree(hold)) {
        await warned;
        return { status: "admitted", hold, bound, cap: fitted.cap, reserved: Promise.resolve(undefined) };
      }
      const reserved = this.#ledger.write(limits).finally(() => warned);
      if (fitted.isFar && this.#ledger.isCounted(sums.day)) {
        const refusal = reserved.then((outcome) =>
          outcome === "stored" ? undefined : this.#whyUnstored(outcome, bound, occasion),
        );
        refusal.catch(() => {});
        return { status: "admitted", hold, bound, cap: fitted.cap, reserved: refusal };
      }
      outcome = await reserved;
      if (outcome === "stored")
        return { status: "admitted", hold, bound, cap: fitted.cap, reserved: Promise.resolve(undefined) };
      this.#ledger.release();
      if (outcome === "lost") break;
      isFresh = true;
    }
    return refused(this.#whyUnstored(outcome, bound, occasion));
  }

  /** A limit, or what the run may spend beyond it: whichever leaves more. */
  #allowed(limit: UsedLimit, payer: Payer, sums: Sums): UsedLimit {
    const allowance = allowanceOf(limit, payer);
    const [own] = allowance ? this.#ledger.used([allowance], sums) : [];
    return own && own.max - own.used > limit.max - limit.used ? own : limit;
  }

  #whyUnstored(outcome: Written, bound: Bound, occasion: Occasion): Refusal {
    if (typeof outcome === "string") return { error: lostText };
    const { limit, sums } = outcome;
    return this.#refusalOf(limit, sums, Math.max(0, limit.used - limit.max), bound, occasion);
  }

  /** Nobody is asked about the calls of a guest, about those of no run, and about those that keep a session in order. */
  #refusalOf(
    limit: UsedLimit,
    sums: Sums,
    need: number,
    bound: Bound,
    { payer, isPublic = false }: Occasion,
  ): Refusal {
    const { rule } = limit;
    const error = refusalText(limit, sums, need, { isPublic });
    const { kind, runId } = payer;
    if (rule.atLimit !== "ask" || runId === undefined || kind === "guest" || kind === "maintenance")
      return { error };
    const spent = this.#ledger.spentInRun(ofRun(rule));
    return { error, ask: requesterOf(limit, sums, { need, bound: boundPrice(bound), spent }) };
  }

  /**
   * Charges a reserved call by the provider's report, or by an estimate. "nothing": it was refused. "unknown", or a report
   * that cannot be true: the whole reservation is charged.
   */
  async charge(
    hold: Hold,
    occasion: Occasion,
    listed: PriceList | undefined,
    usage: PricedUsage | "nothing" | "unknown" | { estimate: Price },
  ): Promise<void> {
    if (usage === "nothing") return this.release();
    const key = rowKey(occasion);
    if (usage === "unknown") return this.#ledger.charge(hold, key);
    if ("estimate" in usage) return this.#ledger.charge(hold, key, usage.estimate);
    const { micros, source, savedMicros } = priceOf(
      usage,
      listed,
      occasion.model,
      pricedFor(occasion, await this.#book.budgets()),
    );
    const { input, output, cacheRead, cacheWrite } = usage;
    // A server may report nonsense.
    if (![input, output, cacheRead, cacheWrite, micros].every((number) => number >= 0 && number <= maxNumber))
      return this.#ledger.charge(hold, key);
    const unknown = source === "unknown-estimate" ? 1 : 0;
    const row = [1, input, output, cacheRead, cacheWrite, micros, unknown, savedMicros, 0];
    this.#ledger.charge(hold, key, { micros, tokens: input + output + cacheRead + cacheWrite }, row);
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
    this.#ledger.release();
  }

  /** Makes the day's item show what was spent. @param ended on whose account a run was that has ended */
  settle(ended?: Payer): Promise<void> {
    return this.#ledger.settle(ended?.kind);
  }

  /** Tells the owner, once a day for each rule, that its limit is near, or that a run costs far more than usual. */
  async #warn(limits: readonly UsedLimit[], day: DayView, budgets: Budgets, { kind }: Payer): Promise<void> {
    const near = limits.filter(
      ({ scope, used, max }) => !isOwn(scope) && used > 0 && used >= budgets.warnAt * max,
    );
    const runaway = budgets.enabled && runawayOf(day, kind, this.#ledger.spentInRun());
    await Promise.all([...near, ...(runaway ? [runaway] : [])].map((limit) => this.#book.mark(day, limit)));
  }
}

const unpricedText = (model: string) =>
  `budget: the price of ${model} is unknown, and budgets.unknownPrice is "refuse"; set budgets.prices`;
const deferredText = "budget: put off, because a limit is near";
const lostText = "budget: the session was taken over";

function rowKey({ payer, model }: Occasion): string {
  const { kind, agentId, channel = "", jobId = "" } = payer;
  return [kind, agentId, channel, jobId, model].join("|");
}

/** Whether a reservation adds nothing to any sum. */
const isFree = ({ micros, scopes }: Hold) => micros === 0 && !scopes.some(isTokens);

/** The budgets, in which a model without a price of its own has that of its server. */
function pricedFor({ model, server }: Occasion, budgets: Budgets): Budgets {
  const { prices } = budgets;
  const price = server !== undefined && Object.hasOwn(prices, server) ? prices[server] : undefined;
  return price && !Object.hasOwn(prices, model) ? { ...budgets, prices: { [model]: price } } : budgets;
}

function boundOf(
  { model }: Occasion,
  { inputTokens, maxTokens, listed, cacheRetention, fee }: CallSize,
  budgets: Budgets,
): Bound | undefined {
  const rate = upperBound({ inputTokens, cacheRetention, fee }, listed, model, budgets);
  if (rate === "refused") return undefined;
  const { inputMicros, outputMicrosPerToken } = rate;
  return { inputTokens, cap: maxTokens, inputMicros, microsPerOutputToken: outputMicrosPerToken };
}
