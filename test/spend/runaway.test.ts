import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { openBook } from "../../shared/spend/book.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";

/** Runs with one call each, of so many output tokens at $100 a million. @returns the warnings about runaways */
async function warnedAfter(outputs: readonly number[]): Promise<unknown[]> {
  const told: unknown[] = [];
  const prices = { "p/m": { input: 0, output: 100 } };
  const configuration = { load: async () => ({ ...defaults, budgets: { ...defaults.budgets, prices } }) };
  const tell = async (_name: string, state: { ruleId: string }) => {
    if (state.ruleId.startsWith("runaway")) told.push(state);
  };
  const book = openBook({ table: createMemoryTable(), configuration, now: Date.now, tell });
  const sessionKey = "agent:main:main";
  const account = new SessionAccount(book, sessionKey, 1);
  for (const [run, output] of outputs.entries()) {
    const payer = { kind: "turn", agentId: "main", sessionKey, runId: `run ${run}` } as const;
    const occasion = { payer, model: "p/m" };
    // The second call finds what the first has cost.
    for (const tokens of [output, 0]) {
      const admission = await account.admit(occasion, { inputTokens: 10, maxTokens: 3000 });
      if (admission.status === "refused") throw new Error(admission.error);
      await admission.reserved;
      const usage = { input: 10, output: tokens, cacheRead: 0, cacheWrite: 0 };
      await account.charge(admission.hold, occasion, undefined, usage);
    }
    await account.settle(payer);
  }
  return told;
}

const usual = Array.from({ length: 10 }, () => 100);

it("a run that costs more than ten times the day's median warns once a day, while it goes on", async () => {
  expect(await warnedAfter([...usual, 1001, 1500])).toEqual([
    expect.objectContaining({ ruleId: "runaway-turn", scope: "run", used: 100_100, limit: 100_000 }),
  ]);
});

it("a run warns neither at ten times the median, nor before ten runs have ended", async () => {
  expect(await warnedAfter([...usual, 1000])).toEqual([]);
  expect(await warnedAfter([...usual.slice(1), 2000])).toEqual([]);
});
