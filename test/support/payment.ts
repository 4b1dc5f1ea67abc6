import type { Payment } from "../../functions/agent/model/model-call.ts";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { type Book, openBook } from "../../shared/spend/book.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";
import type { Table } from "../../shared/world/world.ts";

/** A book in which nothing is spent yet. */
export function newBook(
  budgets: Partial<Configuration["budgets"]> = {},
  table: Table = createMemoryTable(),
  now: () => number = Date.now,
): Book {
  const configuration = { load: async () => ({ ...defaults, budgets: { ...defaults.budgets, ...budgets } }) };
  return openBook({ table, configuration, now, tell: async () => {} });
}

/** The account of a session that has not spent anything yet. */
export function newPayment(budgets: Partial<Configuration["budgets"]> = {}): Payment {
  const book = newBook(budgets);
  const sessionKey = "agent:main:main";
  const payer = { kind: "turn", agentId: "main", sessionKey } as const;
  return { account: new SessionAccount(book, sessionKey, 1), occasion: { payer } };
}
