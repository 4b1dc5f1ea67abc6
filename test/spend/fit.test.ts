import { expect, it } from "vitest";
import type { Configuration } from "../../shared/configuration/schema.ts";
import type { Occasion, SessionAccount } from "../../shared/spend/session-account.ts";
import { newPayment } from "../support/payment.ts";

const limited = (usd: number) => ({
  rules: [
    { id: "day", scope: "all", per: "day", usd, atLimit: "refuse" },
  ] satisfies Configuration["budgets"]["rules"],
});

const payer = { kind: "turn", agentId: "main", sessionKey: "agent:main:main" } as const;

/** Reserves a call of 1,000 tokens of input. */
function admit(account: SessionAccount, maxTokens: number, more: Partial<Occasion> = {}) {
  return account.admit({ payer, model: "p/m", ...more }, { inputTokens: 1000, maxTokens });
}

it("a lowered call never costs more than what is left, although its price is rounded up", async () => {
  const { account } = newPayment({ ...limited(0.001559), prices: { "p/m": { input: 0.07, output: 1.1 } } });
  const admission = await admit(account, 4000);
  expect(admission).toMatchObject({ status: "admitted", cap: 1289 });
  expect(admission.status === "admitted" && admission.hold.micros).toBeLessThanOrEqual(1559);
});

it("a free model answers although the limit in dollars was passed", async () => {
  const prices = { "p/m": { input: 5, output: 25 } };
  const budgets = { ...limited(10), prices };
  const { account } = newPayment(budgets);
  const dear = await admit(account, 4000);
  if (dear.status === "admitted")
    await account.charge(dear.hold, { payer, model: "p/m" }, undefined, "unknown");
  Object.assign(budgets, limited(0.01), { prices: { "p/m": { input: 0, output: 0 } } });
  expect(await admit(account, 4000)).toMatchObject({ status: "admitted", cap: 4000 });
});

it("a call that can wait is made while the limit is not near, even if it is reserved first", async () => {
  const prices = { "p/m": { input: 5, output: 25 } };
  const waits = { isDeferrable: true };
  const { account } = newPayment({ ...limited(0.4), prices });
  expect(await admit(account, 8192, waits)).toMatchObject({ status: "admitted" });
  const near = newPayment({ ...limited(0.26), prices });
  expect(await admit(near.account, 8192, waits)).toMatchObject({ status: "refused" });
  expect(await admit(near.account, 8192)).toMatchObject({ status: "admitted" });
});
