import type { Events } from "../protocol/events.ts";
import { logError } from "../runtime/log.ts";
import type { Broadcast } from "./broadcast.ts";

/** Sends events about budgets to all clients. A failure is only logged: the call does not depend on it. */
export function tellBudgets(broadcast: Pick<Broadcast, "clients" | "send">) {
  return async <Name extends "budget.warning" | "budget.reached">(
    name: Name,
    payload: Events[Name],
  ): Promise<void> => {
    try {
      await broadcast.send(await broadcast.clients(), name, payload);
    } catch (error) {
      logError("budget.untold", error, { what: name });
    }
  };
}
