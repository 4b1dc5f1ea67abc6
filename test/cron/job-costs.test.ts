import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runJobs, updateJob } from "../../shared/cron/jobs.ts";
import { CronBench, hour, minute, task } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const every = (everyMs: number) => ({ kind: "every", everyMs }) as const;

describe("the costs of a job", () => {
  it("are limited to a run a minute: a shorter period is refused for an enabled job", async () => {
    await expect(cron.add({ schedule: every(minute - 1), spec: task("x") })).rejects.toMatchObject({
      ...{ code: 400, message: "schedule: a job runs at most once a minute; write a longer period" },
    });
    const { id } = await cron.add({ schedule: every(minute), spec: task("x") });
    const change = (patch: object) => updateJob(cron.world(), { id, patch });
    await expect(change({ schedule: every(1000) })).rejects.toMatchObject({ code: 400 });
    expect(await change({ schedule: every(1000), enabled: false })).toMatchObject({ enabled: false });
    await expect(change({ enabled: true })).rejects.toMatchObject({ code: 400 });
  });

  it("are limited to one event at a time: none is added while the previous one waits in the session", async () => {
    const { id } = await cron.add({
      schedule: every(hour),
      spec: { mode: "systemEvent", text: "Look around" },
    });
    const force = async () => {
      cron.now += 1;
      return (await runJobs(cron.world(), { id, mode: "force" })).results[0];
    };
    expect(await force()).toMatchObject({ status: "ok" });
    const error = "the previous event still waits in the session";
    expect(await force()).toMatchObject({ status: "skipped", error });
    await cron.work();
    expect(await cron.asked("agent:main:main")).toHaveLength(1);
    expect(await force()).toMatchObject({ status: "ok" });
  });
});
