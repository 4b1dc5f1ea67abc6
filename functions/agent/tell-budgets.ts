import type { Broadcast } from "../../shared/peers/broadcast.ts";
import { logError } from "../../shared/runtime/log.ts";
import type { TellBudget } from "../../shared/spend/book.ts";

/** Sends events about budgets to all clients. A failure is only logged: the call does not depend on it. */
export function tellBudgets(broadcast: Pick<Broadcast, "clients" | "send">): TellBudget {
  return async (name, payload) => {
    try {
      await broadcast.send(await broadcast.clients(), name, payload);
    } catch (error) {
      logError("budget.untold", error, { what: name });
    }
  };
}
