import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cronTool } from "../../functions/agent/tools/native/cron-tool.ts";
import { runNativeTool, type ToolTurn } from "../../functions/agent/tools/native/native-tool.ts";
import type { CronJob } from "../../shared/protocol/cron.ts";
import type { Sender } from "../../shared/session/inbox-entry.ts";
import { audienceOf } from "../../shared/workspace/privacy.ts";
import { CronBench, friday, hour } from "./cron-bench.ts";

let cron: CronBench;
beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
  cron.configuration.userTimezone = "America/Chicago";
});
afterEach(() => cron.close());

const peer = { kind: "dm", id: "42" } as const;
const onTelegram = { kind: "channel", channel: "telegram", accountId: "home", peer, replyToId: "7" } as const;

interface How {
  kind?: string;
  onChannel?: boolean;
  sender?: Sender;
}

async function call(args: object, { kind = "main", onChannel = true, sender }: How = {}) {
  const turn = {
    agentId: "main",
    audience: audienceOf(kind),
    sender,
    origins: [],
    ...(onChannel ? { lastChannel: onTelegram } : {}),
  } as unknown as ToolTurn;
  const address = { sessionKey: "agent:main:main", runId: "r", step: 0, callId: "c" };
  return runNativeTool(cronTool, args, { agent: cron.agent(), turn, address });
}
const done = async (args: object, how?: How) => {
  const outcome = await call(args, how);
  if (!("result" in outcome)) throw new Error(JSON.stringify(outcome));
  return outcome.result as { job: CronJob };
};

describe("gsv__Cron", () => {
  it("adds a job in words, whose answer goes to the conversation's channel", async () => {
    const { job } = await done({
      action: "add",
      job: { name: "Stretch", schedule: "in 20 minutes", message: "Remind me to stretch" },
    });
    expect(job).toMatchObject({
      agentId: "main",
      enabled: true,
      deleteAfterRun: true,
      schedule: { kind: "at", atMs: friday + hour / 3 },
      spec: {
        ...{ mode: "task", message: "Remind me to stretch", deliver: true },
        ...{ channel: "telegram", accountId: "home", to: "42", peerKind: "dm" },
      },
      state: { nextRunAtMs: friday + hour / 3 },
    });
    await cron.until(friday + hour);
    const { replyToId: _answered, ...there } = onTelegram;
    expect([...cron.delivered.values()]).toEqual([
      { origin: { ...there, sessionKey: `agent:main:cron:${job.id}` }, text: { markdown: "done" } },
    ]);
    expect(await cron.job(job.id)).toBeUndefined();
  });

  it("uses the user's timezone for times without one, and keeps a given receiver", async () => {
    const { job } = await done({
      action: "add",
      job: {
        schedule: { kind: "cron", expr: "30 9 * * *" },
        spec: { message: "report", channel: "slack", to: "C1", peerKind: "channel" },
      },
    });
    expect(job.schedule).toEqual({ kind: "cron", expr: "30 9 * * *", tz: "America/Chicago" });
    expect(job.state.nextRunAtMs).toBe(Date.parse("2026-02-13T15:30Z"));
    expect(job).toMatchObject({ name: "report", spec: { mode: "task", channel: "slack", to: "C1" } });
    expect(job.spec).not.toHaveProperty("accountId");
  });

  it("adds a job for clients when there is no channel, and an event for the main session", async () => {
    const add = async (spec: object) =>
      (await done({ action: "add", job: { everyHours: 1, ...spec } }, { onChannel: false })).job.spec;
    expect(await add({ message: "report" })).toEqual({ mode: "task", message: "report" });
    expect(await add({ text: "look" })).toEqual({ mode: "systemEvent", text: "look" });
  });

  it("changes, runs, lists and removes jobs", async () => {
    const { job } = await done({ action: "add", job: { schedule: "every hour", message: "report" } });
    const { id } = job;
    const changed = await done({ action: "update", id, patch: { schedule: "every day at 9:30am" } });
    expect(changed.job.schedule).toEqual({ kind: "cron", expr: "30 9 * * *", tz: "America/Chicago" });
    expect(changed.job.spec).toEqual(job.spec);
    expect(await done({ action: "run", id, mode: "force" })).toMatchObject({ ran: 1 });
    expect(await done({ action: "runs", jobId: id })).toMatchObject({ count: 1 });
    expect(await done({ action: "list" })).toMatchObject({ count: 1, jobs: [{ id }] });
    expect(await done({ action: "status" })).toMatchObject({ count: 1, runningCount: 1 });
    expect(await done({ action: "remove", id })).toEqual({ ok: true, removed: true });
    expect(await call({ action: "remove", id })).toMatchObject({
      ok: false,
      error: `there is no job ${id}; gsv cron list shows them`,
    });
  });

  it("says what is wrong with a call", async () => {
    const error = async (args: object) => {
      const outcome = await call(args);
      return "error" in outcome ? outcome.error : outcome;
    };
    expect(await error({ action: "add" })).toBe("job: this action needs it");
    expect(await error({ action: "update", patch: {} })).toBe("id: this action needs it");
    expect(await error({ action: "add", job: { schedule: "* * *", message: "x" } })).toContain("5 fields");
    expect(await error({ action: "add", job: { schedule: "every hour" } })).toContain("name");
    expect(await error({ action: "add", job: { name: "a", schedule: "every hour" } })).toContain("spec");
    expect(await error({ action: "add", job: { schedule: "2020-01-01 10:00", message: "x" } })).toContain(
      "in the past",
    );
  });

  it("adds a job that is skipped once its creator is no longer an owner, until its message is edited", async () => {
    cron.configuration.channels = { telegram: { owners: ["42"] } };
    const sender = { channel: "telegram", senderId: "42" };
    const written = { schedule: "every hour", message: "report" };
    const { job } = await done({ action: "add", job: written }, { sender });
    const { id } = job;
    const force = () => done({ action: "run", id, mode: "force" });
    await cron.until(friday + hour);
    expect(cron.delivered.size).toBe(1);
    cron.configuration.channels = { telegram: { owners: [] } };
    await cron.until(friday + 2 * hour);
    expect(cron.delivered.size).toBe(1);
    const skipped = { status: "skipped", error: expect.stringContaining("no longer an owner") };
    expect((await cron.runs(id))[0]).toMatchObject(skipped);
    expect(await force()).toMatchObject({ ran: 0, results: [skipped] });
    await done({ action: "update", id, patch: { schedule: "every 2 hours" } });
    expect(await force()).toMatchObject({ ran: 0 });
    await done({ action: "update", id, patch: { message: "report" } });
    expect(await force()).toMatchObject({ ran: 1 });
  });

  it("adds a job for the current owner in a main session that a client uses", async () => {
    cron.configuration.channels = { slack: { owners: ["olga"] } };
    const place = { kind: "channel", channel: "slack", accountId: "team", peer: { kind: "dm", id: "D1" } };
    await cron.hear(place, "olga");
    const add = async () =>
      (await done({ action: "add", job: { schedule: "every hour", message: "x" } }, { onChannel: false }))
        .job;
    expect((await add()).spec).toMatchObject({ channel: "slack", accountId: "team", to: "D1" });
    cron.configuration.channels = { slack: { owners: [] } };
    expect((await add()).spec).not.toHaveProperty("to");
  });

  it("is only for owners, in their own conversation", async () => {
    expect(cronTool.forGuests).toBe(false);
    expect(await call({ action: "list" }, { kind: "group" })).toMatchObject({
      ok: false,
      error: expect.stringContaining("several people share"),
    });
    expect(await call({ action: "list" }, { kind: "cron" })).toMatchObject({ ok: true });
  });
});
