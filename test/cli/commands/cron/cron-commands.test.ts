import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { shownTime } from "../../../../shared/cron/cron-message.ts";
import { addJob, cronStatus, listJobs, removeJob, runJobs, updateJob } from "../../../../shared/cron/jobs.ts";
import { listRuns } from "../../../../shared/cron/run-history.ts";
import type { CronJob } from "../../../../shared/protocol/cron.ts";
import { CronBench } from "../../../cron/cron-bench.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

let cron: CronBench;
let gateway: FakeGateway;
const account = (channel: string, accountId = "default", stopped = false) => ({
  ...{ channel, accountId, stopped, connectedAt: 1 },
});
const accounts = [account("slack"), account("slack", "team"), account("slack", "off", true)];

beforeEach(async () => {
  cron = new CronBench();
  await cron.start();
  cron.now = Date.now();
  cron.configuration.userTimezone = "America/Chicago";
  const world = cron.world();
  gateway = await startFakeGateway({
    "channels.list": () => ({ channels: accounts, count: accounts.length }),
    "cron.status": () => cronStatus(world),
    "cron.list": ({ params }) => listJobs(world, params),
    "cron.add": async ({ params }) => ({ ok: true, job: await addJob(world, params) }),
    "cron.update": async ({ params }) => ({ ok: true, job: await updateJob(world, params) }),
    "cron.remove": async ({ params }) => {
      await removeJob(world, params.id);
      return { ok: true, removed: true };
    },
    "cron.run": ({ params }) => runJobs(world, params),
    "cron.runs": async ({ params }) => {
      const runs = await listRuns(cron.state.table, params, cron.now);
      return { runs, count: runs.length };
    },
  });
});
afterEach(async () => {
  await gateway.close();
  await cron.close();
});

const run = (args: string[], options: GsvOptions = {}) =>
  gsv(["cron", ...args], { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const json = async (args: string[]) => JSON.parse((await run([...args, "--json"])).stdout);
const jobs = async (): Promise<CronJob[]> => (await json(["list"])).jobs;

describe("gsv cron add", () => {
  it("shows the next three runs in the user's timezone and where the answer goes, then adds the job", async () => {
    const { code, stdout, stderr } = await run(["add", "30 7 * * 1-5", "Summarise", "my mail", "--yes"]);
    expect(code).toBe(0);
    expect(stderr.match(/day, \w+ \d+, \d{4} — 7:30 AM C[SD]T/g)).toHaveLength(3);
    expect(stderr).toContain("answer  to where an owner last wrote directly on a channel");
    const [job] = await jobs();
    expect(stdout).toBe(`added: ${job?.id}\n`);
    expect(job).toMatchObject({
      name: "Summarise my mail",
      schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "America/Chicago" },
      spec: {
        ...{ mode: "task", message: "Summarise my mail" },
        ...{ deliver: true, channel: "last", bestEffortDeliver: true },
      },
    });
    expect(job).not.toHaveProperty("deleteAfterRun");
  });

  it("asks at a terminal before it saves, and saves nothing when the answer is no", async () => {
    const answered = (input: string) =>
      run(["add", "every hour", "x"], { isInteractive: true, input: `${input}\r` });
    const refused = await answered("n");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("nothing was changed");
    expect(await jobs()).toEqual([]);
    expect((await answered("y")).code).toBe(0);
    expect(await jobs()).toHaveLength(1);
  });

  it("shows runs in the timezone of --tz, and periods from now on", async () => {
    const { stderr } = await run(["add", "every day at 9", "x", "--tz", "Asia/Tokyo", "--yes"]);
    expect(stderr.match(/ — 9:00 AM GMT\+9/g)).toHaveLength(3);
    const before = Date.now();
    const periods = await run(["add", "every 127 minutes", "x", "--yes"]);
    const shown = [before, Date.now()].map((now) => shownTime(now + 127 * 60_000, "America/Chicago"));
    expect(shown.filter((time) => periods.stderr.includes(`runs    ${time}\n`))).not.toEqual([]);
  });

  it("saves nothing without a terminal, or for an invalid time", async () => {
    const unasked = await run(["add", "every hour", "x"]);
    expect(unasked).toMatchObject({ code: 2, stdout: "" });
    expect(unasked.stderr).toContain("pass --yes");
    expect((await run(["add", "some day", "x", "--yes"])).stderr).toContain('"some day" is not understood');
    expect((await run(["add", "* * *", "x", "--yes"])).stderr).toContain("expected 5 fields");
    const often = await run(["add", "every 5 seconds", "x", "--yes"]);
    expect(often).toMatchObject({
      ...{ code: 2, stderr: "gsv: a job runs at most once a minute; write a longer period\n" },
    });
    expect((await run(["add", "2020-01-01 10:00", "x", "--yes"])).stderr).toContain("in the past");
    expect((await run(["add", "every hour", "x", "--to", "somebody", "--yes"])).stderr).toContain(
      "telegram:42",
    );
    expect((await run(["add", "every hour", "x", "--timeout", "5", "--yes"])).stderr).toContain("--timeout");
    expect((await run(["add", "every hour", "x", "--tz", "Mars", "--yes"])).stderr).toContain(
      "not a timezone",
    );
    expect(await jobs()).toEqual([]);
  });

  it("accepts a receiver, a model, a time limit and a timezone", async () => {
    const options = ["--to", "slack:C1", "--kind", "channel", "--account", "team", "--strict"];
    const more = [
      "--model",
      "openai/gpt-x",
      "--thinking",
      "3",
      "--timeout",
      "1h30m",
      "--tz",
      "Europe/Berlin",
    ];
    const { job } = await json(["add", "every day at 9", "report", ...options, ...more]);
    expect(job.spec).toEqual({
      ...{ mode: "task", message: "report", model: "openai/gpt-x", thinking: "medium", timeoutSeconds: 5400 },
      ...{ deliver: true, channel: "slack", to: "C1", accountId: "team", peerKind: "channel" },
    });
    expect(job.schedule).toEqual({ kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" });
  });

  it("saves no job whose answer could not be sent, and warns of a stopped account", async () => {
    const add = (to: string, ...more: string[]) =>
      run(["add", "every hour", "x", "--to", to, "--yes", ...more]);
    const absent = await add("telegram:42");
    expect(absent).toMatchObject({ code: 1, stdout: "" });
    expect(absent.stderr).toBe(
      "gsv: the answer cannot be sent: telegram has no account default; `gsv channel add telegram` connects it\n",
    );
    expect((await add("slack:C1", "--account", "home")).stderr).toContain("`gsv channel add slack home`");
    expect((await add("telegarm:42")).stderr).toContain("did you mean telegram?");
    expect(await jobs()).toEqual([]);
    const stopped = await add("slack:C1", "--account", "off");
    expect(stopped.code).toBe(0);
    expect(stopped.stderr).toContain(
      "slack/off is stopped; to send answers, run `gsv channel start slack off`",
    );
    const [job] = await jobs();
    expect((await run(["edit", job?.id ?? "", "--to", "telegram:42", "--yes"])).code).toBe(1);
    expect((await jobs())[0]?.spec).toMatchObject({ channel: "slack" });
  });

  it("accepts clients, nowhere, and an event of the main session; a one-shot job is deleted unless --keep is given", async () => {
    const add = async (...args: string[]) => (await json(["add", "in 20 minutes", "x", ...args])).job;
    expect((await add("--to", "clients")).spec).toEqual({ mode: "task", message: "x" });
    expect((await add("--to", "nowhere")).spec).toEqual({ mode: "task", message: "x", deliver: false });
    expect((await add("--event")).spec).toEqual({ mode: "systemEvent", text: "x" });
    expect((await add()).deleteAfterRun).toBe(true);
    expect(await add("--keep")).not.toHaveProperty("deleteAfterRun");
    expect(await add("--disabled")).toMatchObject({ enabled: false });
  });
});

describe("gsv cron", () => {
  it("lists, changes, disables, runs and removes a job by its name or the beginning of its id", async () => {
    const { job } = await json(["add", "every day at 9", "report", "--name", "Daily"]);
    expect((await run(["list"])).stdout).toMatch(
      /^ID +NAME +WHEN +NEXT +LAST\n[0-9a-f]{8} +Daily +0 9 \* \* \* \(America\/Chicago\) +\S.* 9:00 AM C/,
    );
    await run(["edit", "daily", "--when", "every 2 hours", "--message", "short report", "--yes"]);
    expect((await jobs())[0]).toMatchObject({
      schedule: { kind: "every", everyMs: 7_200_000 },
      spec: { message: "short report", channel: "last" },
    });
    const unasked = await run(["edit", "daily", "--when", "every 3 hours"]);
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain("every 3h");
    expect(unasked.stderr).toContain("pass --yes");
    expect((await jobs())[0]).toMatchObject({ schedule: { everyMs: 7_200_000 } });
    await run(["edit", "daily", "--to", "nowhere", "--yes"]);
    expect((await jobs())[0]?.spec).toEqual({ mode: "task", message: "short report", deliver: false });
    expect((await run(["disable", job.id.slice(0, 8)])).stdout).toContain("next   disabled");
    expect((await run(["enable", "Daily"])).code).toBe(0);
    expect((await run(["run", "Daily"])).stdout).toContain("queued  Queued to agent:main:cron:");
    expect((await run(["list"])).stdout).toContain("running");
    await cron.work();
    expect((await run(["runs", "Daily"])).stdout).toMatch(/JOB +AT +STATUS +TOOK +WHAT\n[0-9a-f]{8} .*ok/);
    expect((await run(["status"])).stdout).toContain("jobs            1 of at most 200");
    expect((await run(["remove", "Daily"])).stderr).toContain("pass --yes");
    expect((await run(["remove", "Daily", "--yes"])).stdout).toContain("removed: Daily");
    expect((await run(["runs", job.id])).stdout).toContain("ok");
    expect((await run(["list"])).stdout).toContain("no jobs; add one");
  });

  it("changes account, kind and strictness of a job's receiver", async () => {
    const { job } = await json(["add", "every hour", "x", "--name", "sent", "--to", "slack:C1"]);
    expect(job.spec).toMatchObject({ bestEffortDeliver: true });
    await run(["edit", "sent", "--account", "team", "--kind", "channel", "--yes"]);
    expect((await jobs())[0]?.spec).toEqual({
      ...{ mode: "task", message: "x", deliver: true, channel: "slack", to: "C1" },
      ...{ accountId: "team", peerKind: "channel", bestEffortDeliver: true },
    });
    await run(["edit", "sent", "--strict", "--yes"]);
    expect((await jobs())[0]?.spec).not.toHaveProperty("bestEffortDeliver");
    expect((await jobs())[0]?.spec).toMatchObject({ to: "C1", accountId: "team" });
  });

  it.each([
    [["edit", "sent", "--account", "team"], "--account and --kind need a receiver on a channel"],
    [["edit", "sent", "--kind", "dm"], "--account and --kind need a receiver on a channel"],
    [["edit", "sent", "--strict"], "--strict needs a destination"],
    [["edit", "event", "--strict"], "only --message changes it"],
    [["add", "every hour", "x", "--to", "last", "--kind", "dm"], "--account and --kind need a receiver"],
    [["add", "every hour", "x", "--to", "clients", "--strict"], "--strict needs a destination"],
    [["add", "every hour", "x", "--event", "--model", "p/m"], "--event excludes the options"],
    [["add", "every hour", "x", "--event", "--strict"], "--event excludes the options"],
  ])("refuses what a job's receiver does not have: %j", async (args, message) => {
    await json(["add", "every hour", "x", "--name", "sent", "--to", "nowhere"]);
    await json(["add", "every hour", "x", "--name", "event", "--event"]);
    const before = await jobs();
    const refused = await run([...args, "--yes"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(message);
    expect(await jobs()).toEqual(before);
  });

  it("reports a missing or ambiguous job, and missing arguments", async () => {
    await json(["add", "every hour", "x", "--name", "twin"]);
    await json(["add", "every hour", "x", "--name", "twin"]);
    expect((await run(["disable", "twin"])).stderr).toContain("several jobs match twin");
    expect((await run(["disable", "nobody"])).stderr).toContain("there is no job nobody;");
    expect((await run(["disable", "twni"])).stderr).toContain("there is no job twni (did you mean twin?)");
    expect((await run(["edit", (await jobs())[0]?.id ?? ""])).stderr).toContain("nothing to change");
    const event = (await json(["add", "every hour", "x", "--event"])).job;
    for (const to of ["clients", "nowhere"])
      expect((await run(["edit", event.id, "--to", to])).stderr).toContain("only --message changes it");
    expect((await run(["run"])).stderr).toContain("--due");
    expect((await run(["run", "--due"])).stdout).toBe("nothing is due\n");
  });
});
