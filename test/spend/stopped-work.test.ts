import { beforeEach, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { dayKey } from "../../shared/spend/day-view.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";
import { whyStopped } from "../../shared/spend/stopped-work.ts";
import { set } from "../../shared/world/expression.ts";
import type { Table } from "../../shared/world/world.ts";
import { newBook } from "../support/payment.ts";

let table: Table;
let epoch = 0;
beforeEach(() => {
  table = createMemoryTable();
});

type Rule = Configuration["budgets"]["rules"][number];
const budgetsOf = (rule: Partial<Rule>) => ({
  ...defaults.budgets,
  prices: { "p/m": { input: 5, output: 25 } },
  rules: [{ id: "r", scope: "all", per: "day", usd: 0.1, atLimit: "refuse", ...rule } satisfies Rule],
});
const payerOf = (jobId: string) =>
  ({
    kind: "cron",
    agentId: "main",
    sessionKey: `agent:main:${jobId}`,
    jobId,
    runId: `run of ${jobId}`,
  }) as const;

/** A job's call, which costs 12.5 cents at most and 3.6 at least. */
function call(jobId: string, budgets: ReturnType<typeof budgetsOf>) {
  const payer = payerOf(jobId);
  const account = new SessionAccount(newBook(budgets, table), payer.sessionKey, ++epoch);
  return {
    account,
    admitted: account.admit({ payer, model: "p/m" }, { inputTokens: 1000, maxTokens: 4600 }),
  };
}

const stopping = (jobId: string, budgets: ReturnType<typeof budgetsOf>) =>
  whyStopped(table, { budgets, userTimezone: "UTC" }, payerOf(jobId), Date.now());

/** Uses up a rule's limit but for two cents. */
async function use(jobId: string, budgets: ReturnType<typeof budgetsOf>): Promise<void> {
  const { account, admitted } = call(jobId, budgets);
  const admission = await admitted;
  if (admission.status !== "admitted") throw new Error(admission.error);
  const usage = { input: 0, output: 3200, cacheRead: 0, cacheWrite: 0 };
  await account.charge(admission.hold, { payer: payerOf(jobId), model: "p/m" }, undefined, usage);
  await account.settle();
}

it("a job whose call was refused stops only itself, if each job has a limit of its own", async () => {
  const budgets = budgetsOf({ scope: "job" });
  await use("a", budgets);
  expect(await stopping("a", budgets)).toBeUndefined();
  expect((await call("a", budgets).admitted).status).toBe("refused");
  expect(await stopping("a", budgets)).toContain("gsv budget raise r 0.1");
  expect(await stopping("b", budgets)).toBeUndefined();
});

it("a run that has reached its own limit does not stop later runs", async () => {
  const budgets = budgetsOf({ scope: "run", per: "run", usd: 0.001 });
  expect((await call("a", budgets).admitted).status).toBe("refused");
  expect(await stopping("a", budgets)).toBeUndefined();
});

it("a stopped job goes on when its limit is raised far enough", async () => {
  const budgets = budgetsOf({});
  await use("a", budgets);
  await call("a", budgets).admitted;
  const today = new Date().toISOString().slice(0, 10);
  await table.update(dayKey(today), [set("x:r:1", 5000)]);
  expect(await stopping("a", budgets)).toContain("gsv budget raise r 0.1");
  await table.update(dayKey(today), [set("x:r:2", 50_000)]);
  expect(await stopping("a", budgets)).toBeUndefined();
});

it("with `ask` the first job of a day that reaches a limit begins, and asks; later ones do not begin until it is raised", async () => {
  const budgets = budgetsOf({ atLimit: "ask" });
  await use("a", budgets);
  expect(await stopping("a", budgets)).toBeUndefined();
  expect(await call("a", budgets).admitted).toMatchObject({ status: "refused", ask: { ruleId: "r" } });
  expect(await stopping("b", budgets)).toContain("gsv budget raise r 0.1");
  const today = new Date().toISOString().slice(0, 10);
  await table.update(dayKey(today), [set("x:r:1", 1000)]);
  expect(await stopping("b", budgets)).toBeUndefined();
});
