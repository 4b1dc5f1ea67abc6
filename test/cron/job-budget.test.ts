import { afterEach, beforeEach, expect, it } from "vitest";
import { CronBench, friday, hour, task } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

it("a job does not run while a budget's limit is reached: nothing wakes, and the history says how to raise it", async () => {
  const { id } = await cron.add({ schedule: { kind: "every", everyMs: hour }, spec: task("x") });
  const rule = { id: "jobs", scope: "kind", of: "cron", usd: 0, atLimit: "refuse" } as const;
  cron.configuration.budgets = { ...cron.configuration.budgets, rules: [rule] };
  await cron.until(friday + hour);
  const [run] = await cron.runs(id);
  expect(run).toMatchObject({ status: "skipped" });
  expect(run?.error).toMatch(
    /^budget: today's limit of \$0\.00 for kind cron is reached: \$0\.00 used.*midnight.*gsv budget raise jobs 1$/,
  );
  expect(await cron.asked(`agent:main:cron:${id}`)).toEqual([]);
});
