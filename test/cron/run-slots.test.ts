import { beforeEach, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { type JobRun, jobKey, readJob } from "../../shared/cron/job-item.ts";
import { admitRun, type RunningJob, rivalsOf } from "../../shared/cron/run-slots.ts";
import { ConditionFailed, type Table } from "../../shared/world/world.ts";
import { task } from "./cron-bench.ts";

let table: Table;
beforeEach(() => {
  table = createMemoryTable();
});

/** Stores a job whose tentative run was claimed at this time. */
async function claimed(id: string, since: number, run: Partial<JobRun> = {}, more: object = {}) {
  const job = { id, agentId: "main", enabled: true, nextRunAtMs: 100, spec: task("x"), version: 1, ...more };
  const tentative = { at: 100, since, until: 999, tentative: true as const };
  const stored = { ...job, run: { ...tentative, ...run } } as unknown as RunningJob;
  await table.put({ ...(stored as object), ...jobKey(id) });
  return stored;
}
const withSlot = { tentative: undefined } as never;
const running = async () => (await rivalsOf(table, { id: "" } as RunningJob)).map(({ id }) => id);
const admit = (job: RunningJob, max = 2, on = table) => admitRun(on, job, { max, next: 700 }, 10);

it("runs with a slot come first, then claims by their time and id; events need no slot", async () => {
  for (const [id, since] of [
    ["d", 3],
    ["c", 2],
    ["b", 2],
    ["e", 1],
  ] as const)
    await claimed(id, since);
  await claimed("z", 9, withSlot);
  await claimed("event", 0, {}, { spec: { mode: "systemEvent", text: "x" } });
  expect(await running()).toEqual(["z", "e", "b", "c", "d"]);
  expect((await rivalsOf(table, { id: "b" } as RunningJob)).map(({ id }) => id)).not.toContain("b");
});

it("a claim behind as many runs as there are slots gives way", async () => {
  await claimed("slot", 5, withSlot);
  await claimed("before", 2);
  const job = await claimed("job", 2);
  expect(await admit(job)).toBe("waiting");
  expect(await readJob(table, "job")).not.toHaveProperty("run");
  expect(await running()).toEqual(["slot", "before"]);
});

it("a claim before others gets the slot, and takes the claims that are too many", async () => {
  await claimed("slot", 5, withSlot);
  for (const id of ["k", "l"]) await claimed(id, 2);
  const job = await claimed("job", 2);
  expect(await admit(job)).toMatchObject({ nextRunAtMs: 700, run: { at: 100, since: 2, until: 999 } });
  expect((await readJob(table, "job"))?.run).not.toHaveProperty("tentative");
  expect(await running()).toEqual(["job", "slot"]);
});

it("a claim gives way when its time is not the job's next one or the job is disabled, but not a forced one", async () => {
  for (const more of [{ nextRunAtMs: 101 }, { enabled: false }])
    expect(await admit(await claimed("job", 1, {}, more))).toBe("waiting");
  const forced = await claimed("job", 1, { forced: true }, { nextRunAtMs: 101 });
  expect(await admit(forced)).toMatchObject({ run: { forced: true } });
});

it("a claim is read again when the job, or one behind it, was written meanwhile", async () => {
  const job = await claimed("job", 1);
  await claimed("later", 2);
  const update: Table["update"] = async (key, ...rest) => {
    if (key.sk === "J#later") throw new ConditionFailed();
    return table.update(key, ...rest);
  };
  expect(await admit(job, 1, { ...table, update })).toBe("changed");
  expect(await admit({ ...job, version: 7 })).toBe("changed");
  expect(await running()).toEqual(["job", "later"]);
});
