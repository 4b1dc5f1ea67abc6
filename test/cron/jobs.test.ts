import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listJobs, removeJob, runJobs, updateJob } from "../../shared/cron/jobs.ts";
import { listRuns } from "../../shared/cron/run-history.ts";
import { parseParams } from "../../shared/protocol/methods.ts";
import { answered, CronBench, friday, hour, minute, task } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const hourly = { kind: "every", everyMs: hour };
const once = { kind: "at", atMs: friday + hour } as const;
const list = async () => (await listJobs(cron.world(), parseParams("cron.list", {}))).jobs;
const update = (id: string, patch: object) =>
  updateJob(cron.world(), parseParams("cron.update", { id, patch }));
const force = (id: string) => runJobs(cron.world(), parseParams("cron.run", { id, mode: "force" }));

describe("a job", () => {
  it("that ends well has no error any more", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.answer = () => ({ status: "failed", error: "LLM error: no", overflow: false });
    await cron.until(friday + hour);
    expect((await list())[0]?.state).toMatchObject({ lastStatus: "error", lastError: "LLM error: no" });
    cron.answer = () => answered("done");
    await cron.until(friday + 2 * hour);
    expect((await list())[0]?.state).toMatchObject({ lastStatus: "ok" });
    expect((await list())[0]?.state).not.toHaveProperty("lastError");
    expect(await cron.job(id)).toMatchObject({ enabled: true });
  });

  it("without description or next run does not have these fields", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x"), enabled: false });
    const shown = {
      ...{ id, agentId: "main", name: "job", enabled: false, createdAtMs: friday, updatedAtMs: friday },
      ...{ schedule: hourly, spec: task("x"), state: {} },
    };
    expect(await list()).toStrictEqual([shown]);
  });

  it("is rejected for a period below a minute, a past time or an unknown model, unless it is disabled", async () => {
    const often = { kind: "every", everyMs: 59_000 };
    const past = { kind: "at", atMs: friday - 1 };
    await expect(cron.add({ schedule: often, spec: task("x") })).rejects.toThrow("at most once a minute");
    await expect(cron.add({ schedule: past, spec: task("x") })).rejects.toThrow("is in the past");
    const { id } = await cron.add({ schedule: past, spec: task("x"), enabled: false });
    await cron.add({ schedule: often, spec: task("x"), enabled: false });
    await expect(update(id, { enabled: true })).rejects.toThrow("is in the past");
    const fault = 'spec.model: "/" is neither';
    await expect(cron.add({ schedule: hourly, spec: task("x", { model: "/" }) })).rejects.toThrow(fault);
    await expect(update(id, { spec: task("x", { model: "/" }) })).rejects.toThrow(fault);
  });
});

describe("the history", () => {
  it("is paged, the newest run first, and omits runs that have expired", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await cron.until(friday + 4 * hour);
    const page = async (params: object, now = cron.now) =>
      (await listRuns(cron.state.table, { offset: 0, limit: 9, ...params }, now)).map(
        ({ ts }) => (ts - friday) / hour,
      );
    expect(await page({ offset: 1, limit: 2 })).toEqual([3, 2]);
    expect(await page({ jobId: id, offset: 1, limit: 2 })).toEqual([3, 2]);
    expect(await page({}, friday + 365 * 24 * hour)).toEqual([]);
  });

  it("has the next run at the time when a run ended", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const { id: last } = await cron.add({ schedule: once, spec: task("x") });
    await cron.until(friday + hour);
    expect((await cron.runs(id))[0]).toMatchObject({ status: "ok", nextRunAtMs: friday + 2 * hour });
    expect((await cron.runs(last))[0]).not.toHaveProperty("nextRunAtMs");
  });
});

describe("a run", () => {
  it("of a one-shot job that is forced before its time leaves the scheduled run", async () => {
    const { id } = await cron.add({ schedule: once, spec: task("x") });
    expect((await force(id)).results[0]).toMatchObject({ nextRunAtMs: friday + hour });
    await cron.work();
    await cron.until(friday + 2 * hour);
    expect(await cron.runs(id)).toHaveLength(2);
    expect((await force(id)).results[0]).not.toHaveProperty("nextRunAtMs");
  });

  it("of an event is skipped while the event before waits in the session", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: { mode: "systemEvent", text: "look" } });
    const { id: other } = await cron.add({ schedule: hourly, spec: { mode: "systemEvent", text: "look" } });
    expect(await force(id)).toMatchObject({ ran: 1, results: [{ status: "ok" }] });
    expect((await cron.job(id))?.lastStatus).toBe("ok");
    cron.now += minute;
    const error = "the previous event still waits in the session";
    expect(await force(id)).toMatchObject({ ran: 0, results: [{ status: "skipped", error }] });
    expect(await force(other)).toMatchObject({ ran: 1 });
    cron.now = friday + hour;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    expect((await cron.runs(id))[0]).toMatchObject({ status: "skipped", error });
    expect(await cron.job(id)).toMatchObject({ lastStatus: "skipped", nextRunAtMs: friday + 2 * hour });
    await cron.work();
    cron.now += minute;
    expect(await force(id)).toMatchObject({ ran: 1 });
  });

  it("that is skipped leaves the next one scheduled, and disables a job of one time", async () => {
    cron.configuration.cron.enabled = false;
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const { id: last } = await cron.add({ schedule: once, spec: task("x") });
    await cron.until(friday + hour);
    const skipped = { lastStatus: "skipped", lastError: "cron.enabled is off" };
    expect(await cron.job(id)).toMatchObject({ ...skipped, enabled: true, nextRunAtMs: friday + 2 * hour });
    expect(await cron.job(last)).toMatchObject({ ...skipped, enabled: false });
    expect(await cron.job(last)).not.toHaveProperty("nextRunAtMs");
    expect((await cron.runs(id))[0]).toMatchObject({ nextRunAtMs: friday + 2 * hour });
    expect((await cron.runs(last))[0]).not.toHaveProperty("nextRunAtMs");
  });

  it("keeps its slot until it ends when its job is removed", async () => {
    cron.configuration.cron.maxConcurrentRuns = 1;
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const { id: other } = await cron.add({ schedule: hourly, spec: task("x") });
    await force(id);
    expect((await force(other)).results[0]?.error).toContain("cron.maxConcurrentRuns runs are in progress");
    await removeJob(cron.world(), id);
    expect(await force(other)).toMatchObject({ ran: 0 });
    await cron.work();
    expect(await force(other)).toMatchObject({ ran: 1 });
  });
});
