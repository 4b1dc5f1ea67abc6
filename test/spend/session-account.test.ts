import { beforeEach, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { openBook } from "../../shared/spend/book.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { usageOf } from "../../shared/spend/pay-for.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";
import type { Table } from "../../shared/world/world.ts";

const listed = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };
const size = { inputTokens: 1000, maxTokens: 2000, listed, cacheRetention: "none" } as const;
const rule = (usd: number) => ({ id: "day", scope: "all", per: "day", usd, atLimit: "refuse" }) as const;

let table: Table;
let now: number;
let rules: Configuration["budgets"]["rules"];
beforeEach(() => {
  [table, now, rules] = [createMemoryTable(), Date.parse("2026-11-24T12:00:00Z"), [rule(1)]];
});

const occasionOf = (sessionKey: string) =>
  ({ payer: { kind: "turn", agentId: "main", sessionKey, runId: "r" }, model: "a/b" }) as const;

/** An account on an instance of its own. */
function openAccount(sessionKey: string) {
  const configuration = {
    load: async () => ({ ...defaults, budgets: { ...defaults.budgets, rules } }),
  };
  const book = openBook({ table, configuration, now: () => now, tell: async () => {} });
  const account = new SessionAccount(book, sessionKey, 1);
  return {
    account,
    async reserve() {
      const admission = await account.admit(occasionOf(sessionKey), size);
      if (admission.status === "refused") throw new Error(admission.error);
      expect(await admission.reserved).toBeUndefined();
      return (usage: Parameters<typeof account.charge>[3]) =>
        account.charge(admission.hold, occasionOf(sessionKey), listed, usage);
    },
  };
}

const spent = async (date = "2026-11-24") => (await readDay(table, date)).sums.all ?? 0;

it("two settlements at once count once", async () => {
  const { account, reserve } = openAccount("agent:main:a");
  await (await reserve())(usageOf(500));
  await Promise.all([account.settle(), account.settle()]);
  expect(await spent()).toBe(500);
  expect([...(await readDay(table, "2026-11-24")).rows.values()]).toEqual([[1, 500, 0, 0, 0, 500, 0, 0, 0]]);
});

it("settlements of two sessions at once are both counted", async () => {
  const both = ["agent:main:a", "agent:main:b"].map(openAccount);
  for (const { reserve } of both) await (await reserve())(usageOf(500));
  await Promise.all(both.map(({ account }) => account.settle()));
  expect(await spent()).toBe(1000);
});

it("a call counts to what its reservation named, although the rules have changed since", async () => {
  const { account, reserve } = openAccount("agent:main:a");
  const charge = await reserve();
  rules = [{ id: "agents", scope: "agent", usd: 0.0001, atLimit: "refuse" }];
  await charge(usageOf(500));
  await account.settle();
  expect((await readDay(table, "2026-11-24")).sums).toEqual({ all: 500 });
  await expect(reserve()).rejects.toThrow("$0.00 used or reserved");
});

it("a call that crosses midnight counts to the day of its reservation, and a clock that goes back changes nothing", async () => {
  const { account, reserve } = openAccount("agent:main:a");
  const charge = await reserve();
  now += 24 * 3600_000;
  await charge(usageOf(500));
  const next = await reserve();
  now -= 24 * 3600_000;
  await next(usageOf(200));
  await account.settle();
  expect([await spent(), await spent("2026-11-25")]).toEqual([500, 200]);
});

it.each([
  ["more than was reserved", usageOf(900_000), 900_000],
  ["nothing", "unknown", 3000],
  ["a negative number", usageOf(-900_000), 3000],
  ["no number", usageOf(Number.NaN), 3000],
  ["a number that cannot be true", usageOf(1e300), 3000],
] as const)("of a provider that reports %s, the day counts what may be true", async (_, usage, counted) => {
  const { account, reserve } = openAccount("agent:main:a");
  await (await reserve())(usage);
  await account.settle();
  expect(await spent()).toBe(counted);
  if (counted > 500_000) {
    rules = [rule(0.5)];
    await expect(openAccount("agent:main:b").reserve()).rejects.toThrow(
      "limit of $0.50 is reached: $0.90 used",
    );
  }
});
