import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { listSessions } from "../../../shared/session/sessions.ts";
import { raiseBudget, readBudgets } from "../../../shared/spend/budget-state.ts";
import { readUsage } from "../../../shared/spend/usage-report.ts";
import type { Gateway, MethodTable } from "../gateway.ts";

/** The most recently used sessions that a report names. */
const maxSessions = 2000;

type UsageMethod = "usage.get" | "budget.list" | "budget.raise";

async function settings({ configuration, now }: Gateway) {
  const { userTimezone, budgets } = await configuration.load();
  return { budgets, date: localTime(now(), userTimezone).date };
}

export const usageMethods: Pick<MethodTable, UsageMethod> = {
  "usage.get": {
    modes: ["client"],
    async handle(gateway, params) {
      const { date } = await settings(gateway);
      return readUsage(gateway.table, date, params, async () => {
        const sessions = await listSessions(gateway.table, 0, maxSessions);
        return sessions.map(({ sessionKey }) => sessionKey);
      });
    },
  },
  "budget.list": {
    modes: ["client"],
    async handle(gateway) {
      const { date, budgets } = await settings(gateway);
      return readBudgets(gateway.table, date, budgets);
    },
  },
  "budget.raise": {
    modes: ["client"],
    scope: "approve",
    async handle(gateway, params) {
      const { date, budgets } = await settings(gateway);
      return { ok: true, rule: await raiseBudget(gateway.table, date, budgets, params) };
    },
  },
};
