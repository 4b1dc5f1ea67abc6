import type { Payment } from "../../functions/agent/model/model-call.ts";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { openBook } from "../../shared/spend/book.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";

/** The account of a session that has not spent anything yet. */
export function newPayment(budgets: Partial<Configuration["budgets"]> = {}): Payment {
  const configuration = { load: async () => ({ ...defaults, budgets: { ...defaults.budgets, ...budgets } }) };
  const book = openBook({ table: createMemoryTable(), configuration, now: Date.now, tell: async () => {} });
  const sessionKey = "agent:main:main";
  const payer = { kind: "turn", agentId: "main", sessionKey } as const;
  return { account: new SessionAccount(book, sessionKey, 1), occasion: { payer } };
}
