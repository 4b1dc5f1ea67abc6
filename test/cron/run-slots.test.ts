import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { acquireSlot, freeSlot } from "../../shared/cron/run-slots.ts";
import { ConditionFailed } from "../../shared/world/world.ts";

const slot = (jobId: string, at: number) => ({ jobId, at, until: 100 });

it("a slot is held by one run of a job, until it is freed or expires", async () => {
  const table = createMemoryTable();
  const take = (jobId: string, at: number, now = 0) => acquireSlot(table, slot(jobId, at), 2, now);
  expect(await take("a", 1)).toBe(true);
  // The same run again, and another run of the job.
  expect([await take("a", 1), await take("a", 2)]).toEqual([true, false]);
  expect([await take("b", 1), await take("c", 1)]).toEqual([true, false]);
  await freeSlot(table, "a", 2, 0);
  expect(await take("c", 1)).toBe(false);
  await freeSlot(table, "a", 1, 0);
  expect([await take("c", 1), await take("a", 3)]).toEqual([true, false]);
  expect([await take("a", 3, 99), await take("a", 3, 100)]).toEqual([false, true]);
});

it("a slot that others change all the time gives a retryable error", async () => {
  const table = { ...createMemoryTable(), update: () => Promise.reject(new ConditionFailed()) };
  await expect(acquireSlot(table, slot("a", 1), 2, 0)).rejects.toMatchObject({ code: 409, retryable: true });
});
