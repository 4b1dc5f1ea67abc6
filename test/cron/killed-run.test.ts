import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fireCron } from "../../functions/timer/timer-handler.ts";
import { allJobs } from "../../shared/cron/jobs.ts";
import type { Table } from "../../shared/world/world.ts";
import { immortal, type Life } from "../agent/bench.ts";
import { CronBench, friday, hour, minute, task, telegram } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const jobs = {
  "a task of a period": {
    schedule: { kind: "every", everyMs: hour },
    spec: task("report", telegram),
  },
  "a task at one time, removed afterwards": {
    schedule: { kind: "at", atMs: friday + hour },
    spec: task("report", telegram),
    deleteAfterRun: true,
  },
  "an event of a period": {
    schedule: { kind: "every", everyMs: hour },
    spec: { mode: "systemEvent", text: "report" },
  },
  "an event at one time, removed afterwards": {
    schedule: { kind: "at", atMs: friday + hour },
    spec: { mode: "systemEvent", text: "report" },
    deleteAfterRun: true,
  },
  "a task whose answer has no receiver": {
    schedule: { kind: "every", everyMs: hour },
    spec: task("report", { deliver: true }),
  },
};

/** The stored state after a job's run. */
async function outcome(id: string, sessionKey: string) {
  const job = await cron.job(id);
  const { nextRunAtMs, lastStatus, runningAtMs, enabled, lastError } = job ?? {};
  return {
    job: job && { nextRunAtMs, lastStatus, runningAtMs, enabled, lastError },
    runs: (await cron.runs(id)).map(({ status, error, nextRunAtMs: next }) => ({ status, error, next })),
    asked: (await cron.asked(sessionKey)).length,
    called: cron.calls.length,
    delivered: [...cron.delivered].map(([, { text }]) => text),
    // Another run finds a free slot.
    running: (await allJobs(cron.world())).filter(({ run }) => run).length,
    scheduled: [...cron.schedules.values()].map(({ at }) => at),
  };
}

/** The same table, which calls `before` ahead of each call. */
function pausing(table: Table, before: () => Promise<void>): Table {
  return new Proxy(table, {
    get(target, method: keyof Table) {
      const call = target[method] as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        await before();
        return call.apply(target, args);
      };
    },
  });
}

describe.each(Object.entries(jobs))("%s", (_name, job) => {
  /** One time of the job's schedule, whose timer dies after some calls; the later steps end the run. */
  async function runKilled(
    timerLife: Life,
    agentLife: Life,
    afterwards: (fire: () => Promise<boolean>) => Promise<unknown>,
  ) {
    await cron.close();
    cron = new CronBench();
    await cron.start();
    const { id } = await cron.add(job);
    const sessionKey = job.spec.mode === "task" ? `agent:main:cron:${id}` : "agent:main:main";
    const [first] = [...cron.schedules];
    if (!first) throw new Error("the job has no schedule");
    const [name, { event }] = first;
    cron.schedules.delete(name);
    cron.now = event.at;
    cron.fired = event;
    const survived = await cron.fire(event, timerLife);
    const worked = await cron.work(agentLife);
    await afterwards(() => cron.fire(event));
    await cron.work();
    // The sweeps of the next minutes find the unfinished work after the leases of the dead processes have expired.
    for (let i = 1; i <= 4; i++) {
      cron.now = event.at + i * minute;
      await cron.sweep();
      await cron.work();
    }
    return { survived, worked, ended: await outcome(id, sessionKey) };
  }

  const none = async () => {};
  const again = (fire: () => Promise<boolean>) => fire();

  it("has one run for its time when the timer is killed after each of its AWS calls in turn", async () => {
    const whole = immortal();
    const { ended } = await runKilled(whole, immortal(), none);
    expect(ended.runs).toHaveLength(1);
    expect(ended.running).toBe(0);
    expect(whole.calls.length).toBeGreaterThan(8);
    for (let calls = 0; calls < whole.calls.length; calls++)
      for (const afterwards of [none, again]) {
        const life: Life = { left: calls, calls: [] };
        const broken = await runKilled(life, immortal(), afterwards);
        const place = `killed after ${calls} calls, the last ${whole.calls[calls - 1]}`;
        expect(broken.survived, place).toBe(false);
        expect(broken.ended, place).toEqual(ended);
      }
  });

  it("has one run for its time when the agent is killed after each of its AWS calls in turn", async () => {
    const whole = immortal();
    const { ended } = await runKilled(immortal(), whole, none);
    for (let calls = 0; calls < whole.calls.length; calls++) {
      const broken = await runKilled(immortal(), { left: calls, calls: [] }, none);
      const place = `killed after ${calls} calls, the last ${whole.calls[calls - 1]}`;
      expect(broken.worked, place).toBe(false);
      // An interrupted model call is repeated.
      expect(broken.ended.called, place).toBeLessThanOrEqual(ended.called + 1);
      expect({ ...broken.ended, called: 0 }, place).toEqual({ ...ended, called: 0 });
    }
  });

  it("has one run for its time when a timer pauses at any of its calls until another one has finished", async () => {
    const { ended } = await runKilled(immortal(), immortal(), none);
    let places = 0;
    for (let isReached = true; isReached; places++) {
      isReached = false;
      const paused = await runKilled({ left: 0, calls: [] }, immortal(), async (fire) => {
        const { kind, jobId, at } = cron.event();
        let calls = 0;
        const meanwhile = async () => {
          await fire();
          await cron.work();
        };
        const timer = cron.timer();
        const table = pausing(timer.table, async () => {
          if (calls++ !== places) return;
          isReached = true;
          await meanwhile();
        });
        await fireCron({ ...timer, table }, { kind, jobId, at });
      });
      expect(paused.ended, `paused before call ${places}`).toEqual(ended);
    }
    expect(places).toBeGreaterThan(8);
  });

  it("has one run for its time when its schedule fires twice, in sequence or at once", async () => {
    const { ended } = await runKilled(immortal(), immortal(), none);
    expect((await runKilled(immortal(), immortal(), again)).ended).toEqual(ended);
    const twice = (fire: () => Promise<boolean>) => Promise.all([fire(), fire(), cron.sweep()]);
    expect((await runKilled({ left: 0, calls: [] }, immortal(), twice)).ended).toEqual(ended);
  });
});

it("an event that was skipped is not submitted later when the timer is killed after each of its AWS calls in turn", async () => {
  const ends = new Set<string>();
  for (let left = 0; ; left++) {
    await cron.close();
    cron = new CronBench();
    await cron.start();
    const { id } = await cron.add(jobs["an event of a period"]);
    cron.now = friday + hour;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    cron.now += hour;
    const survived = await cron.fire({ kind: "cron", jobId: id, at: cron.now }, { left, calls: [] });
    const [before] = await cron.runs(id);
    // The first event leaves the inbox before anyone continues the second one.
    await cron.work();
    for (let i = 1; i <= 3; i++) {
      cron.now += minute;
      await cron.sweep();
      await cron.work();
    }
    const [after] = await cron.runs(id);
    if (before?.status === "skipped") expect(after?.status, `killed after ${left} calls`).toBe("skipped");
    ends.add(String(after?.status));
    if (survived) break;
  }
  expect([...ends].sort()).toEqual(["ok", "skipped"]);
});
