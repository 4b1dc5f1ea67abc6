import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fireCron } from "../../functions/timer/timer-handler.ts";
import { destinationOf } from "../../shared/cron/destination.ts";
import { cronStatus, listJobs, runJobs, updateJob } from "../../shared/cron/jobs.ts";
import { parseParams } from "../../shared/protocol/methods.ts";
import { maxInboxBytes } from "../../shared/session/inbox.ts";
import { metaKey, newSession } from "../../shared/session/state.ts";
import { CronBench, friday, hour, minute, task } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
});
afterEach(() => cron.close());

const hourly = { kind: "every", everyMs: hour } as const;
const once = { kind: "at", atMs: friday + hour } as const;
const listed = async () => (await listJobs(cron.world(), parseParams("cron.list", {}))).jobs;
const run = (params: object) => runJobs(cron.world(), parseParams("cron.run", params));

describe("a listed job", () => {
  it("has the fields with which it was added, and the result of its last run", async () => {
    const given = { name: "a", description: "b", schedule: hourly, spec: task("x"), deleteAfterRun: false };
    const { id } = await cron.add({ ...given, agentId: "Work" });
    const same = { id, agentId: "work", ...given, enabled: true, createdAtMs: friday, updatedAtMs: friday };
    expect(await listed()).toEqual([{ ...same, state: { nextRunAtMs: friday + hour } }]);
    cron.now = friday + hour;
    await cron.fire({ kind: "cron", jobId: id, at: cron.now });
    const next = { nextRunAtMs: friday + 2 * hour, lastRunAtMs: friday + hour };
    expect((await listed())[0]?.state).toEqual({ ...next, runningAtMs: friday + hour });
    cron.answer = () => ({ status: "failed", error: "LLM error: no", overflow: false });
    cron.now += 5;
    await cron.work();
    const ended = { lastStatus: "error", lastError: "LLM error: no", lastDurationMs: 5 };
    expect((await listed())[0]?.state).toEqual({ ...next, ...ended });
    expect(await cron.runs(id)).toMatchObject([
      { status: "error", durationMs: 5, nextRunAtMs: friday + 2 * hour },
    ]);
  });

  it("is sorted by its next run, and without one by its creation", async () => {
    const ids: string[] = [];
    for (const [i, enabled] of [false, true, false, true].entries()) {
      cron.now = friday + i;
      ids.push(
        (await cron.add({ schedule: { kind: "every", everyMs: (5 - i) * hour }, spec: task("x"), enabled }))
          .id,
      );
    }
    expect((await listed()).map(({ id }) => id)).toEqual([ids[3], ids[1], ids[0], ids[2]]);
  });
});

it("cron.status counts the jobs that are due, and those in progress", async () => {
  const { maxJobs, maxConcurrentRuns } = cron.configuration.cron;
  const empty = { enabled: true, maxJobs, maxConcurrentRuns, timezone: cron.configuration.userTimezone };
  expect(await cronStatus(cron.world())).toEqual({ ...empty, count: 0, dueCount: 0, runningCount: 0 });
  const { id } = await cron.add({ schedule: hourly, spec: task("x") });
  await cron.add({ schedule: once, spec: task("x") });
  await cron.add({ schedule: hourly, spec: task("x"), enabled: false });
  await cron.add({ schedule: { kind: "every", everyMs: 3 * hour }, spec: task("x") });
  const four = { ...empty, count: 4 };
  cron.now = friday + hour - 1;
  const next = { nextRunAtMs: friday + hour };
  expect(await cronStatus(cron.world())).toEqual({ ...four, ...next, dueCount: 0, runningCount: 0 });
  cron.now = friday + hour;
  expect(await cronStatus(cron.world())).toEqual({ ...four, ...next, dueCount: 2, runningCount: 0 });
  await cron.fire({ kind: "cron", jobId: id, at: cron.now });
  expect(await cronStatus(cron.world())).toEqual({ ...four, ...next, dueCount: 1, runningCount: 1 });
});

describe("a change", () => {
  const change = (id: string, patch: object) => updateJob(cron.world(), { id, patch });

  it("of the text keeps a time that is due; a new schedule or enabling plans the next one", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.now = friday + hour + minute;
    for (const patch of [
      { description: "d" },
      { spec: task("y") },
      { agentId: "Work" },
      { deleteAfterRun: true },
    ])
      expect((await change(id, patch)).state.nextRunAtMs).toBe(friday + hour);
    expect((await listed())[0]).toMatchObject({ description: "d", agentId: "work", spec: task("y") });
    expect((await change(id, { enabled: true })).state.nextRunAtMs).toBe(friday + 2 * hour);
    expect((await change(id, { schedule: once, enabled: false })).state).not.toHaveProperty("nextRunAtMs");
    expect((await listed())[0]?.state).not.toHaveProperty("nextRunAtMs");
  });

  it.each<[string, object, object]>([
    ["a time in the past", { schedule: { kind: "at", atMs: friday } }, { code: 400 }],
    ["no such day", { schedule: { kind: "cron", expr: "0 0 30 2 *" }, enabled: false }, { code: 400 }],
    ["a model that is none", { spec: task("x", { model: "a b" }) }, { code: 400 }],
  ])("to %s is refused, and nothing changes", async (_, patch, error) => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const before = await listed();
    await expect(change(id, patch)).rejects.toMatchObject(error);
    expect(await listed()).toEqual(before);
  });

  it("is applied twice when two are made at the same time", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    await Promise.all([change(id, { name: "n" }), change(id, { description: "d" })]);
    expect((await listed())[0]).toMatchObject({ name: "n", description: "d" });
  });

  it("while a run is being submitted keeps the run, which is not submitted again", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    cron.now = friday + hour;
    const timer = cron.timer();
    const wake = async (sessionKey: string) => {
      await change(id, { name: "n" });
      await timer.wake(sessionKey);
    };
    await fireCron({ ...timer, wake }, { kind: "cron", jobId: id, at: cron.now });
    expect(await cron.state.table.get({ pk: "CRON", sk: `J#${id}` })).toMatchObject({
      ...{ name: "n", run: { at: cron.now, submitted: true }, dueAt: friday + 2 * hour + 2 * minute },
    });
    await cron.work();
    expect(await cron.job(id)).toMatchObject({ lastStatus: "ok", nextRunAtMs: friday + 2 * hour });
  });
});

describe("a run", () => {
  it("that becomes due while cron is off, or whose answer has no receiver, reports that to the requester", async () => {
    const { id } = await cron.add({ schedule: once, spec: task("x", { deliver: true }) });
    expect((await run({ id, mode: "force" })).results).toEqual([
      {
        ...{ jobId: id, status: "error", durationMs: 0, nextRunAtMs: friday + hour },
        error: expect.stringContaining("name channel and to"),
      },
    ]);
    const { id: other } = await cron.add({ schedule: once, spec: task("x") });
    cron.configuration.cron.enabled = false;
    await cron.until(friday + hour);
    expect(await cron.job(other)).toMatchObject({ enabled: false, lastStatus: "skipped" });
    expect(await cron.runs(other)).toEqual([
      {
        ...{ id: `cron-${other}-${friday + hour}`, jobId: other, ts: friday + hour, status: "skipped" },
        ...{ error: "cron.enabled is off", durationMs: 0 },
      },
    ]);
  });

  it.each<[object, object]>([
    [{ model: "openai/gpt-x" }, { model: { provider: "openai", id: "gpt-x" } }],
    [{ model: { provider: "openai", id: "gpt-x" } }, { model: { provider: "openai", id: "gpt-x" } }],
    [{ thinking: "high" }, { thinkingLevel: "high" }],
  ])("of a task with %j calls the model with these settings", async (more, called) => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x", more) });
    await run({ id, mode: "force" });
    await cron.work();
    const { model } = cron.configuration;
    expect(cron.calls[0]).toMatchObject({ model: { provider: model.provider, id: model.id }, ...called });
  });

  it("waits for a session whose inbox is full", async () => {
    const { id } = await cron.add({ schedule: hourly, spec: task("x") });
    const key = metaKey(`agent:main:cron:${id}`);
    const full = { ...newSession(`agent:main:cron:${id}`, "s", friday), inboxBytes: maxInboxBytes } as object;
    await cron.state.table.put({ ...full, ...key });
    cron.now = friday + hour;
    await expect(cron.fire({ kind: "cron", jobId: id, at: cron.now })).rejects.toMatchObject({ code: 429 });
    await cron.state.table.delete(key);
    cron.now += minute;
    await cron.sweep();
    await cron.work();
    expect(await cron.runs(id)).toMatchObject([{ status: "ok", ts: friday + hour }]);
  });
});

describe("the answer of a job goes", () => {
  const peer = (id: string) => ({ kind: "dm" as const, id });
  it.each<[object, string]>([
    [{}, "its answer goes to clients"],
    [{ deliver: false }, "its answer stays in the session"],
    [{ deliver: true }, "its answer goes to slack D1 (account team)"],
    [{ channel: "last" }, "its answer goes to slack D1 (account team)"],
    [{ channel: "slack" }, "its answer goes to slack D1 (account team)"],
    [{ to: "D2" }, "its answer goes to slack D2 (account team)"],
    [{ channel: "telegram", to: "42" }, "its answer goes to telegram 42"],
    [{ channel: "telegram", to: "42", accountId: "home" }, "its answer goes to telegram 42 (account home)"],
    [{ channel: "telegram" }, "no owner has written to the agent in a direct message on telegram: name to"],
  ])("of a task with %j: %s", async (more, expected) => {
    cron.configuration.channels = { slack: { owners: ["olga"] } };
    await cron.hear({ kind: "channel", channel: "slack", accountId: "team", peer: peer("D1") }, "olga");
    const spec = task("x", more) as never;
    const { answer, fault } = await destinationOf(cron.state.table, cron.configuration, {
      id: "j",
      agentId: "main",
      spec,
    });
    expect(fault ?? answer).toBe(expected);
  });
});
