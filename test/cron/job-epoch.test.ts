import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fireCron } from "../../functions/timer/timer-handler.ts";
import { removeJob, runJobs, updateJob } from "../../shared/cron/jobs.ts";
import type { Table } from "../../shared/world/world.ts";
import { Killed, type Life } from "../agent/bench.ts";
import { answered, CronBench, friday, hour, minute, task } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const every = { kind: "every", everyMs: 10 * minute } as const;
const first = friday + 10 * minute;
const stored = (id: string) => cron.state.table.get({ pk: "CRON", sk: `J#${id}` });
const force = (id: string, life?: Life) => runJobs(cron.world(life), { id, mode: "force" });

/** A table whose first update of a job waits until `meanwhile` has happened. */
function lateWriter(table: Table, meanwhile: () => Promise<unknown>): Table {
  let isFirst = true;
  const update: Table["update"] = async (...args) => {
    const isLate = isFirst && args[0].pk === "CRON";
    if (isLate) isFirst = false;
    if (isLate) await meanwhile();
    return table.update(...args);
  };
  return { ...table, update };
}

describe("an edit of a job", () => {
  it("during a fire changes neither the run nor the next time", async () => {
    const { id } = await cron.add({ schedule: every, spec: task("x") });
    cron.now = first;
    const table = lateWriter(cron.state.table, () => cron.fire({ kind: "cron", jobId: id, at: first }));
    await updateJob({ ...cron.world(), table }, { id, patch: { name: "n" } });
    expect(await stored(id)).toMatchObject({
      name: "n",
      nextRunAtMs: first + 10 * minute,
      run: { at: first },
    });
    await cron.work();
    await cron.until(friday + hour);
    const runs = await cron.runs(id);
    expect(runs.map(({ status, ts }) => [status, (ts - friday) / minute])).toEqual(
      [60, 50, 40, 30, 20, 10].map((at) => ["ok", at]),
    );
  });

  it("does not postpone the check of a run that was claimed and not submitted", async () => {
    const { id } = await cron.add({ schedule: every, spec: task("x") });
    cron.now = first;
    let calls = 0;
    while ((await stored(id))?.run === undefined)
      await cron.fire({ kind: "cron", jobId: id, at: first }, { left: calls++, calls: [] });
    await updateJob(cron.world(), { id, patch: { name: "n" } });
    expect((await stored(id))?.dueAt).toBe(first + minute);
    cron.now += minute;
    await cron.sweep();
    await cron.work();
    expect(await cron.runs(id)).toMatchObject([{ status: "ok", ts: first }]);
  });
});

it("a forced run that dies at any call leaves the job's own runs and the slots alone", async () => {
  cron.configuration.cron.maxConcurrentRuns = 1;
  for (let left = 0, isOver = false; !isOver; left++) {
    const { id } = await cron.add({ schedule: { kind: "every", everyMs: hour }, spec: task("x") });
    const due = cron.now + hour;
    cron.now = due - minute;
    const life = { left, calls: [] };
    isOver = await force(id, life).then(
      () => true,
      (error) => {
        if (error instanceof Killed) return false;
        throw error;
      },
    );
    // The claim of the dead requester is continued after a minute, and the job's own run is not blocked.
    cron.now = due;
    for (let i = 0; i < 3; i++) {
      await cron.sweep();
      await cron.work();
      await cron.until(cron.now + minute);
    }
    await cron.sweep();
    await cron.work();
    const place = `killed after ${life.calls.join(", ")}`;
    expect(await stored(id), place).not.toHaveProperty("run");
    expect(
      (await cron.runs(id)).map(({ status }) => status),
      place,
    ).not.toContain("queued");
    expect(
      (await cron.runs(id)).some(({ id: run }) => run === `cron-${id}-${due}`),
      place,
    ).toBe(true);
    await removeJob(cron.world(), id);
  }
});

it("the history states that a run is queued, then running, and ok only after its end", async () => {
  const { id } = await cron.add({ schedule: every, spec: task("x") });
  cron.now = first;
  const status = async () => (await cron.runs(id)).map((run) => run.status);
  const wake = async (key: string) => {
    expect(await status()).toEqual(["queued"]);
    cron.woken.add(key);
  };
  await fireCron({ ...cron.timer(), wake }, { kind: "cron", jobId: id, at: first });
  expect((await stored(id))?.lastStatus).toBeUndefined();
  cron.answer = async () => {
    await expect.poll(status).toEqual(["running"]);
    return answered("done");
  };
  await cron.work();
  expect(await status()).toEqual(["ok"]);
});

describe("items of the previous release", () => {
  it("that list runs in progress block no run", async () => {
    const runs = Object.fromEntries(
      ["a", "b", "c", "d"].map((job) => [job, { at: 1, until: friday + 9 * hour }]),
    );
    await cron.state.table.put({ pk: "CRON", sk: "RUNNING", runs, version: 7 });
    const { id } = await cron.add({ schedule: every, spec: task("x") });
    await cron.until(first);
    expect(await cron.runs(id)).toMatchObject([{ status: "ok" }]);
  });

  it.each([{}, { submitted: true }])("with a claimed run are settled: %j", async (more) => {
    const { id } = await cron.add({ schedule: every, spec: task("x") });
    cron.now = first;
    await cron.fire({ kind: "cron", jobId: id, at: first });
    const run = { at: first, since: first, until: first + 75 * minute, ...more };
    await cron.state.table.put({ ...(await stored(id)), pk: "CRON", sk: `J#${id}`, run, dueAt: first });
    cron.now += minute;
    await cron.sweep();
    await cron.work();
    expect(await stored(id)).toMatchObject({ lastStatus: "ok", nextRunAtMs: first + 10 * minute });
    expect(await stored(id)).not.toHaveProperty("run");
  });
});
