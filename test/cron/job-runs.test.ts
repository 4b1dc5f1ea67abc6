import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listJobs, removeJob, runJobs, updateJob } from "../../shared/cron/jobs.ts";
import { settleCronRun } from "../../shared/cron/settle-run.ts";
import { parseParams } from "../../shared/protocol/methods.ts";
import { metaKey } from "../../shared/session/state.ts";
import { answered, CronBench, friday, hour, minute, task, telegram } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const hourly = { kind: "every", everyMs: hour };
const run = (params: object) => runJobs(cron.world(), parseParams("cron.run", params));

describe("a job's message", () => {
  it("states that it is scheduled and when, and goes into the job's own session", async () => {
    const { id } = await cron.add({
      name: "Mail",
      schedule: { kind: "at", atMs: Date.parse("2026-02-13T15:30:00Z") },
      spec: task("Summarise my mail", telegram),
    });
    cron.answer = () => answered("nothing new");
    await cron.until(friday + hour);
    expect(await cron.asked(`agent:main:cron:${id}`)).toEqual([
      "[cron · Friday, February 13, 2026 — 3:30 PM UTC]\nScheduled job: Mail\n\nSummarise my mail",
    ]);
    expect([...cron.delivered]).toEqual([
      [
        `cron-${id}-${friday + hour / 2}`,
        {
          origin: {
            kind: "channel",
            channel: "telegram",
            accountId: "default",
            peer: { kind: "dm", id: "42" },
            sessionKey: `agent:main:cron:${id}`,
          },
          text: { markdown: "nothing new" },
        },
      ],
    ]);
    expect(await cron.runs(id)).toEqual([
      {
        id: `cron-${id}-${friday + hour / 2}`,
        jobId: id,
        ts: friday + hour / 2,
        status: "ok",
        summary: `Queued to agent:main:cron:${id}; its answer goes to telegram 42`,
        durationMs: 0,
      },
    ]);
  });

  it("shows the time in the user's timezone", async () => {
    cron.configuration.userTimezone = "America/Chicago";
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await cron.until(friday + hour);
    expect((await cron.asked(`agent:main:cron:${id}`))[0]).toContain(
      "[cron · Friday, February 13, 2026 — 10:00 AM CST]",
    );
  });

  it("of an event goes to the main session, and its answer to where an owner last wrote directly", async () => {
    const last = { kind: "channel", channel: "slack", accountId: "team", peer: { kind: "dm", id: "D1" } };
    cron.configuration.channels = { slack: { owners: ["olga"] } };
    await cron.hear(last, "olga");
    await cron.add({ schedule: hourly, spec: { mode: "systemEvent", text: "Look around" } });
    await cron.until(friday + hour);
    expect((await cron.asked("agent:main:main"))[0]).toMatch(/Look around$/);
    expect([...cron.delivered.values()]).toMatchObject([
      { origin: { ...last, sessionKey: "agent:main:main" }, text: { markdown: "done" } },
    ]);
  });

  it("carries the job's model, thinking level and time limit", async () => {
    const { id } = await cron.add({
      schedule: hourly,
      spec: task("x", { model: "openai/gpt-x", thinking: "high", timeoutSeconds: 60 }),
    });
    cron.answer = () => {
      cron.now += 61_000;
      return { status: "failed", error: "aborted", overflow: false };
    };
    await cron.until(friday + hour);
    const [call] = cron.calls;
    expect(call).toMatchObject({ model: { provider: "openai", id: "gpt-x" }, thinkingLevel: "high" });
    expect(call?.timeoutMs).toBe(60_000);
    expect((await cron.runs(id))[0]).toMatchObject({
      status: "error",
      error: "this job's time limit is over",
      durationMs: 61_000,
    });
  });
});

describe("a job runs", () => {
  it("once at every time of its schedule", async () => {
    const { id } = await cron.add({
      schedule: { kind: "cron", expr: "30 2 * * *", tz: "Europe/Berlin" },
      spec: task("x"),
    });
    cron.now = Date.parse("2026-03-27T12:00:00Z");
    await updateJob(cron.world(), { id, patch: { enabled: true } });
    await cron.until(Date.parse("2026-03-31T12:00:00Z"));
    const runs = (await cron.runs(id)).map(({ ts }) => new Date(ts).toISOString().slice(5, 16)).reverse();
    expect(runs).toEqual(["03-28T01:30", "03-29T01:00", "03-30T00:30", "03-31T00:30"]);
  });

  it("when its schedule was lost, started by the sweep", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.schedules.clear();
    cron.now = friday + hour + minute;
    await cron.sweep();
    expect(cron.woken.size).toBe(0);
    cron.now = friday + hour + 2 * minute;
    await cron.sweep();
    await cron.work();
    expect(await cron.runs(id)).toHaveLength(1);
    expect((await cron.asked(`agent:main:cron:${id}`))[0]).not.toContain("late");
    // The next schedule exists again.
    expect([...cron.schedules.values()].map(({ at }) => at)).toEqual([friday + 2 * hour]);
  });

  it("once and late after hours without runs, and says so", async () => {
    const { id } = await cron.add({ schedule: { kind: "every", everyMs: 10 * minute }, spec: task("x") });
    cron.now = friday + 5 * hour + 1;
    await cron.sweep();
    await cron.work();
    await cron.sweep();
    const asked = await cron.asked(`agent:main:cron:${id}`);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("(This run is late: it was due at Friday, February 13, 2026 — 3:10 PM UTC.");
    expect((await cron.job(id))?.nextRunAtMs).toBe(friday + 5 * hour + 10 * minute);
  });

  it("not by a schedule that was replaced", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await updateJob(cron.world(), { id, patch: { schedule: { kind: "at", atMs: friday + 3 * hour } } });
    await cron.until(friday + 2 * hour);
    expect(await cron.runs(id)).toEqual([]);
    await cron.until(friday + 4 * hour);
    expect(await cron.runs(id)).toHaveLength(1);
  });

  it("not while it is disabled, and not after it was removed", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const { id: other } = await cron.add({ schedule: hourly, spec: task("x") });
    await updateJob(cron.world(), { id, patch: { enabled: false } });
    await removeJob(cron.world(), other);
    await cron.until(friday + 3 * hour);
    await cron.sweep();
    expect(await cron.runs()).toEqual([]);
    await updateJob(cron.world(), { id, patch: { enabled: true } });
    await cron.until(friday + 4 * hour);
    expect((await cron.runs()).map(({ jobId }) => jobId)).toEqual([id]);
  });

  it("not while cron is disabled: its times are skipped, and the history states why", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.configuration.cron.enabled = false;
    await cron.until(friday + 2 * hour);
    expect((await cron.runs(id)).map(({ status, error }) => [status, error])).toEqual([
      ...[
        ["skipped", "cron.enabled is off"],
        ["skipped", "cron.enabled is off"],
      ],
    ]);
    await expect(run({ id, mode: "force" })).rejects.toMatchObject({ code: 409 });
    cron.configuration.cron.enabled = true;
    await cron.until(friday + 3 * hour);
    expect((await cron.job(id))?.lastStatus).toBe("ok");
  });

  it("not a second time while its previous run is in progress", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.now = friday + hour;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    expect((await cron.job(id))?.runningAtMs).toBe(cron.now);
    cron.now = friday + 2 * hour - 50 * minute;
    expect((await run({ id, mode: "force" })).results).toMatchObject([{ status: "skipped" }]);
    await updateJob(cron.world(), { id, patch: { schedule: { kind: "every", everyMs: 5 * minute } } });
    cron.now += 5 * minute;
    await cron.sweep();
    const [next] = [...cron.schedules.values()].slice(-1);
    cron.now = next?.at ?? 0;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    expect((await cron.runs(id))[0]).toMatchObject({
      status: "skipped",
      error: "the previous run has not ended",
    });
  });

  it("again after a run that was lost", async () => {
    const { id } = await cron.add({ schedule: { kind: "at", atMs: friday + hour }, spec: task("x") });
    cron.now = friday + hour;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    await cron.state.table.delete(metaKey(`agent:main:cron:${id}`));
    cron.now += hour + 16 * minute;
    await cron.sweep();
    expect(await cron.job(id)).toMatchObject({ lastStatus: "lost", enabled: false });
    expect((await cron.job(id))?.runningAtMs).toBeUndefined();
    expect(await cron.runs(id)).toMatchObject([{ status: "lost" }]);
  });

  it("and is not lost as long as its session has its message, nor once it has succeeded", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.now = friday + hour;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    cron.now += hour + 16 * minute;
    await cron.sweep();
    expect((await cron.job(id))?.runningAtMs).toBe(friday + hour);
    await cron.state.table.delete(metaKey(`agent:main:cron:${id}`));
    cron.now += hour;
    await cron.sweep();
    expect((await cron.runs(id)).at(-1)).toMatchObject({ status: "lost" });
    const late = {
      kind: "cron",
      jobId: id,
      at: friday + hour,
      queuedAt: friday + hour,
      summary: "",
    } as const;
    await settleCronRun(cron.world(), late, { status: "ok" });
    expect((await cron.runs(id)).at(-1)).toMatchObject({ status: "ok" });
    expect((await cron.job(id))?.lastStatus).toBe("ok");
    for (const status of ["skipped", "error", "lost"] as const)
      await settleCronRun(cron.world(), late, { status, error: "by a late duplicate" });
    expect((await cron.runs(id)).at(-1)).toMatchObject({ status: "ok" });
  });
});

describe("limits", () => {
  it("at most cron.maxConcurrentRuns tasks are in progress; the others wait, and run late", async () => {
    cron.configuration.cron.maxConcurrentRuns = 2;
    for (let i = 0; i < 5; i++)
      await cron.add({ name: `${i}`, schedule: { kind: "at", atMs: friday + hour }, spec: task("x") });
    cron.now = friday + hour;
    const events = [...cron.schedules.values()].map(({ event }) => event);
    await Promise.all(events.map((event) => cron.fire(event)));
    expect(cron.woken.size).toBe(2);
    cron.now += minute;
    await cron.sweep();
    expect(cron.woken.size).toBe(2);
    for (let i = 0; i < 3; i++) {
      expect(cron.woken.size).toBeLessThanOrEqual(2);
      await cron.work();
      cron.now += minute;
      await cron.sweep();
    }
    await cron.work();
    expect((await cron.runs()).map(({ status }) => status)).toEqual(Array(5).fill("ok"));
  });

  it("a second fire of a job that is being claimed does not free the slot of the first", async () => {
    cron.configuration.cron.maxConcurrentRuns = 1;
    for (const name of ["a", "b"])
      await cron.add({ name, schedule: { kind: "at", atMs: friday + hour }, spec: task("x") });
    cron.now = friday + hour;
    const [first, other] = [...cron.schedules.values()].map(({ event }) => event);
    await Promise.all([cron.fire(first!), cron.fire(first!)]);
    await cron.fire(other!);
    expect([...cron.woken]).toEqual([`agent:main:cron:${first?.jobId}`]);
  });

  it("at most cron.maxJobs jobs can be added", async () => {
    cron.configuration.cron.maxJobs = 1;
    await cron.add({ schedule: hourly, spec: task("x") });
    await expect(cron.add({ schedule: hourly, spec: task("x") })).rejects.toMatchObject({
      code: 400,
      message: "there are 1 jobs already (cron.maxJobs): remove one first",
    });
  });

  it("the newest cron.maxRunsPerJobHistory runs of a job are kept, also for a removed job", async () => {
    cron.configuration.cron.maxRunsPerJobHistory = 3;
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await cron.until(friday + 5 * hour);
    await removeJob(cron.world(), id);
    expect((await cron.runs()).map(({ ts }) => (ts - friday) / hour)).toEqual([5, 4, 3]);
  });
});

describe("the end of a run", () => {
  const once = { kind: "at", atMs: friday + hour };
  it("disables a one-shot job, and removes it if requested and the run succeeded", async () => {
    const { id: kept } = await cron.add({ schedule: once, spec: task("x") });
    const { id: removed } = await cron.add({ schedule: once, spec: task("x"), deleteAfterRun: true });
    await cron.until(friday + hour);
    expect(await cron.job(kept)).toMatchObject({ enabled: false, lastStatus: "ok" });
    expect(await cron.job(removed)).toBeUndefined();
    expect(await cron.runs(removed)).toHaveLength(1);
    const { id: failing } = await cron.add({
      schedule: { kind: "at", atMs: friday + 2 * hour },
      spec: task("x"),
      deleteAfterRun: true,
    });
    cron.answer = () => ({ status: "failed", error: "LLM error: no", overflow: false });
    await cron.until(friday + 2 * hour);
    expect(await cron.job(failing)).toMatchObject({
      enabled: false,
      lastStatus: "error",
      lastError: "LLM error: no",
    });
  });

  it("is an error when its answer cannot be delivered, unless delivery is best effort", async () => {
    cron.deliver = () => ({ ok: false, reason: "chat not found" });
    const { id: strict } = await cron.add({ schedule: once, spec: task("x", telegram) });
    const { id: lenient } = await cron.add({
      schedule: once,
      spec: task("x", { ...telegram, bestEffortDeliver: true }),
    });
    await cron.until(friday + hour);
    expect(await cron.job(strict)).toMatchObject({
      lastStatus: "error",
      lastError: "the answer was not delivered: chat not found",
    });
    expect((await cron.job(lenient))?.lastStatus).toBe("ok");
  });

  it("comes at once, without a model call, when its answer has no known receiver", async () => {
    const { id } = await cron.add({ schedule: once, spec: task("x", { deliver: true }) });
    const { id: lenient } = await cron.add({
      schedule: once,
      spec: task("x", { deliver: true, bestEffortDeliver: true }),
    });
    await cron.until(friday + hour);
    expect((await cron.job(id))?.lastError).toContain("name channel and to");
    expect((await cron.runs(lenient))[0]).toMatchObject({ status: "ok" });
    expect(cron.calls).toHaveLength(1);
  });
});

describe("cron.run", () => {
  it("runs one job now, and does not change its schedule", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.now += minute;
    expect(await run({ id, mode: "force" })).toEqual({
      ok: true,
      ran: 1,
      results: [
        {
          jobId: id,
          status: "queued",
          summary: `Queued to agent:main:cron:${id}; its answer goes to clients`,
          durationMs: 0,
          nextRunAtMs: friday + hour,
        },
      ],
    });
    await cron.work();
    await cron.until(friday + hour);
    expect(await cron.runs(id)).toHaveLength(2);
  });

  it("runs all due jobs, and no others", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await cron.add({ schedule: { kind: "every", everyMs: 2 * hour }, spec: task("x") });
    expect(await run({})).toEqual({ ok: true, ran: 0, results: [] });
    expect(await run({ id })).toEqual({ ok: true, ran: 0, results: [] });
    cron.now += hour;
    expect((await run({})).results.map(({ jobId }) => jobId)).toEqual([id]);
    expect((await run({})).ran).toBe(0);
  });

  it("refuses force without a job with 400, and an unknown job with 404", async () => {
    await expect(run({ mode: "force" })).rejects.toMatchObject({ code: 400 });
    await expect(run({ id: "no", mode: "force" })).rejects.toMatchObject({ code: 404 });
  });
});

describe("jobs", () => {
  it("are listed by agent, the next to run first, including disabled ones unless excluded", async () => {
    const { id: late } = await cron.add({ schedule: { kind: "every", everyMs: 2 * hour }, spec: task("x") });
    const { id: soon } = await cron.add({ schedule: hourly, spec: task("x"), agentId: "Work" });
    const { id: off } = await cron.add({ schedule: hourly, spec: task("x"), enabled: false });
    const list = async (params: object) =>
      (await listJobs(cron.world(), parseParams("cron.list", params))).jobs.map(({ id }) => id);
    expect(await list({})).toEqual([soon, late, off]);
    expect(await list({ includeDisabled: false })).toEqual([soon, late]);
    expect(await list({ agentId: "work" })).toEqual([soon]);
    expect(await list({ limit: 1, offset: 1 })).toEqual([late]);
  });

  it("keep the fields that a change does not contain", async () => {
    const job = await cron.add({ name: "a", description: "b", schedule: hourly, spec: task("x") });
    cron.now += minute;
    const { description: _description, ...rest } = job;
    const renamed = await updateJob(cron.world(), { id: job.id, patch: { name: "c", description: null } });
    expect(renamed).toEqual({ ...rest, name: "c", updatedAtMs: cron.now });
    expect((await listJobs(cron.world(), parseParams("cron.list", {}))).jobs).toEqual([renamed]);
  });
});
