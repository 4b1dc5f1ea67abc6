import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { listSessions } from "../../../shared/session/sessions.ts";
import { raiseBudget, readBudgets } from "../../../shared/spend/budget-state.ts";
import { readUsage } from "../../../shared/spend/usage-report.ts";
import type { MethodTable } from "../gateway.ts";

/** The most recently used sessions that a report names. */
const maxSessions = 2000;

type UsageMethod = "usage.get" | "budget.list" | "budget.raise";

export const usageMethods: Pick<MethodTable, UsageMethod> = {
  "usage.get": {
    modes: ["client"],
    async handle({ table, configuration, now }, params) {
      const settings = await configuration.load();
      const { date } = localTime(now(), settings.userTimezone);
      const sessionKeys = async () => {
        const sessions = await listSessions(table, 0, maxSessions);
        return sessions.map(({ sessionKey }) => sessionKey);
      };
      const [usage, { rules: budgets }] = await Promise.all([
        readUsage(table, date, params, sessionKeys),
        readBudgets(table, settings, now()),
      ]);
      return { ...usage, budgets };
    },
  },
  "budget.list": {
    modes: ["client"],
    async handle({ table, configuration, now }) {
      return readBudgets(table, await configuration.load(), now());
    },
  },
  "budget.raise": {
    modes: ["client"],
    scope: "approve",
    async handle({ table, configuration, now }, params) {
      return { ok: true, rule: await raiseBudget(table, await configuration.load(), now(), params) };
    },
  },
};
