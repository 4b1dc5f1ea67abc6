import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { destinationOf } from "../../shared/cron/destination.ts";
import { cronStatus, listJobs, removeJob, runJobs, updateJob } from "../../shared/cron/jobs.ts";
import { listRuns } from "../../shared/cron/run-history.ts";
import type { CronJob } from "../../shared/protocol/cron.ts";
import { parseParams } from "../../shared/protocol/methods.ts";
import { answered, CronBench, friday, hour, minute, task, telegram } from "./cron-bench.ts";

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

describe("cron.status", () => {
  it("counts the jobs, those due and those running, and gives the next run", async () => {
    expect(await cronStatus(cron.world())).toStrictEqual({
      ...{ enabled: true, count: 0, dueCount: 0, runningCount: 0, timezone: "UTC" },
      ...{ maxJobs: cron.configuration.cron.maxJobs },
      maxConcurrentRuns: cron.configuration.cron.maxConcurrentRuns,
    });
    const { id } = await cron.add({ schedule: { kind: "every", everyMs: 2 * hour }, spec: task("x") });
    await cron.add({ schedule: hourly, spec: task("x") });
    await cron.add({ schedule: { kind: "every", everyMs: minute }, spec: task("x"), enabled: false });
    await force(id);
    const counts = { count: 3, runningCount: 1, nextRunAtMs: friday + hour };
    expect(await cronStatus(cron.world())).toMatchObject({ ...counts, dueCount: 0 });
    cron.now = friday + hour;
    expect(await cronStatus(cron.world())).toMatchObject({ ...counts, dueCount: 1 });
  });
});

describe("a job", () => {
  it("is shown with its run in progress, and with the result of its last run", async () => {
    const added = await cron.add({
      description: "d",
      schedule: hourly,
      spec: task("x"),
      deleteAfterRun: false,
    });
    const { state, ...fields } = added;
    expect(fields).toStrictEqual({
      ...{ id: added.id, agentId: "main", name: "job", description: "d", enabled: true },
      ...{ deleteAfterRun: false, createdAtMs: friday, updatedAtMs: friday },
      ...{ schedule: hourly, spec: task("x") },
    });
    expect(state).toStrictEqual({ nextRunAtMs: friday + hour });
    cron.now += minute;
    await force(added.id);
    const nextRunAtMs = friday + hour;
    const lastRunAtMs = friday + minute;
    expect((await list())[0]?.state).toStrictEqual({ nextRunAtMs, lastRunAtMs, runningAtMs: lastRunAtMs });
    cron.answer = () => {
      cron.now += 2000;
      return { status: "failed", error: "LLM error: no", overflow: false };
    };
    await cron.work();
    const ended = { nextRunAtMs, lastRunAtMs, lastDurationMs: 2000 };
    expect((await list())[0]?.state).toStrictEqual({
      ...{ ...ended, lastStatus: "error", lastError: "LLM error: no" },
    });
    cron.answer = () => answered("done");
    await force(added.id);
    await cron.work();
    expect((await list())[0]?.state).toMatchObject({ lastStatus: "ok", lastDurationMs: 0 });
    expect((await list())[0]?.state).not.toHaveProperty("lastError");
  });

  it("without description or next run does not have these fields", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x"), enabled: false });
    const shown = {
      ...{ id, agentId: "main", name: "job", enabled: false, createdAtMs: friday, updatedAtMs: friday },
      ...{ schedule: hourly, spec: task("x"), state: {} },
    };
    expect(await list()).toStrictEqual([shown]);
  });

  it("is sorted by the time when it was added, among those without a next run", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 4; i++, cron.now += 1)
      ids.push((await cron.add({ schedule: hourly, spec: task("x"), enabled: false })).id);
    expect((await list()).map(({ id }) => id)).toEqual(ids);
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

describe("cron.update", () => {
  it("computes the next run again for a new schedule only", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const next = async () => (await list())[0]?.state.nextRunAtMs;
    cron.now += hour + minute;
    await update(id, { name: "b", agentId: "Work", description: "new" });
    expect(await next()).toBe(friday + hour);
    expect((await list())[0]).toMatchObject({ name: "b", agentId: "work", description: "new" });
    cron.schedules.clear();
    await update(id, { spec: task("y") });
    expect(await next()).toBe(friday + hour);
    expect(cron.schedules.size).toBe(0);
    await update(id, { schedule: { kind: "every", everyMs: 3 * hour } });
    expect(await next()).toBe(friday + 3 * hour);
    expect([...cron.schedules.values()].map(({ at }) => at)).toEqual([friday + 3 * hour]);
    await update(id, { enabled: false });
    expect(await next()).toBeUndefined();
    await update(id, { schedule: hourly });
    expect(await next()).toBeUndefined();
    await update(id, { enabled: true });
    expect(await next()).toBe(friday + 2 * hour);
  });

  it("leaves a run in progress as it is", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await force(id);
    await update(id, { name: "b" });
    await cron.work();
    expect((await list())[0]).toMatchObject({ name: "b", state: { lastStatus: "ok" } });
    expect((await list())[0]?.state).not.toHaveProperty("runningAtMs");
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
    expect((await cron.runs(id))[0]).toMatchObject({ status: "skipped", error });
    expect(await force(other)).toMatchObject({ ran: 1 });
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

  it.each([
    [{}, {}],
    [{ thinking: "high" }, { thinkingLevel: "high" }],
    [{ model: "openai/gpt-x" }, { model: { provider: "openai", id: "gpt-x" } }],
    [{ model: { provider: "openai", id: "gpt-y" } }, { model: { provider: "openai", id: "gpt-y" } }],
  ])("with %j calls the model with it, and with the agent's own otherwise", async (given, overridden) => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x", given) });
    await force(id);
    await cron.work();
    const { model, thinkingLevel } = cron.calls[0]!;
    const { provider, id: modelId } = model;
    const own = cron.configuration.model;
    expect({ model: { provider, id: modelId }, thinkingLevel }).toMatchObject({
      model: { provider: own.provider, id: own.id },
      ...overridden,
    });
    expect(thinkingLevel === "high").toBe("thinkingLevel" in overridden);
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

describe("a task's answer", () => {
  const peer = { kind: "dm", id: "D1" } as const;
  const last = { kind: "channel", channel: "slack", accountId: "team", peer } as const;
  const to = async (spec: object) => {
    const stored = { id: "j", agentId: "main", spec: task("x", spec) as CronJob["spec"] };
    const found = await destinationOf(cron.state.table, cron.configuration, stored);
    return "fault" in found ? found.fault : found.answer;
  };

  it.each([
    [{}, "its answer goes to clients"],
    [{ ...telegram, deliver: false }, "its answer stays in the session"],
    [{ deliver: true }, "its answer goes to slack D1 (account team)"],
    [{ channel: "slack" }, "its answer goes to slack D1 (account team)"],
    [{ to: "C9" }, "its answer goes to slack C9 (account team)"],
    [{ channel: "last", to: "C9" }, "its answer goes to slack C9 (account team)"],
    [telegram, "its answer goes to telegram 42"],
    [{ ...telegram, accountId: "home" }, "its answer goes to telegram 42 (account home)"],
    [{ channel: "telegram" }, "no owner has written to the agent in a direct message on telegram: name to"],
  ])("with %j: %s", async (spec, expected) => {
    cron.configuration.channels = { slack: { owners: ["olga"] } };
    await cron.hear(last, "olga");
    expect(await to(spec)).toBe(expected);
  });
});
