import type { Book } from "./book.ts";
import type { PricedUsage, PriceList } from "./price.ts";
import { type Occasion, SessionAccount } from "./session-account.ts";

/** A call to a provider that answers with something else than a model's reply. */
export interface Service {
  occasion: Occasion;
  /** Upper bound. */
  inputTokens: number;
  /** Of the answer. Default: it has no tokens of its own. */
  maxTokens?: number;
  /** Dollars besides those of the tokens. Upper bound. */
  fee?: number;
  /** Undefined: the price is unknown. */
  listed?: PriceList | undefined;
}

/** What a service returned, and what it reports to have used. */
export interface Served<T> {
  value: T;
  usage: PricedUsage | "nothing" | "unknown";
}

/**
 * Reserves, makes and charges a call.
 * @returns why the budgets refuse it, or what the service returned
 */
export async function payWith<T>(
  account: SessionAccount,
  { occasion, inputTokens, maxTokens = 1, fee, listed }: Service,
  call: () => Promise<Served<T>>,
): Promise<{ refused: string } | { value: T }> {
  const size = { inputTokens, maxTokens, ...(fee ? { fee } : {}), ...(listed ? { listed } : {}) };
  const admission = await account.admit(occasion, size);
  if (admission.status === "refused") return { refused: admission.error };
  const refused = await admission.reserved;
  if (refused !== undefined) {
    account.release();
    return { refused: refused.error };
  }
  const { value, usage } = await call();
  await account.charge(admission.hold, occasion, listed, usage);
  return { value };
}

/** Pays for calls that no lease covers, one after the other. Call `settle` after the last one. */
export interface Tab {
  /** As `payWith`. */
  pay<T>(service: Service, call: () => Promise<Served<T>>): Promise<{ refused: string } | { value: T }>;
  /** Makes the day's sums show what was spent. */
  settle(): Promise<void>;
}

/** @param sessionKey whose entry in the day counts the calls */
export function openTab(book: Book, sessionKey: string): Tab {
  const account = new SessionAccount(book, sessionKey);
  return {
    pay: (service, call) => payWith(account, service, call),
    settle: () => account.settle(),
  };
}

/** The usage of a service that only reads. */
export const usageOf = (input: number, output = 0): PricedUsage => ({
  input,
  output,
  cacheRead: 0,
  cacheWrite: 0,
});
