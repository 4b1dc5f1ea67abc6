import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { CronJob } from "../../shared/protocol/cron.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { channelsOf, type Platform, platformStarts } from "../support/platforms/platforms.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let telegram: Platform;
let client: Peer;

beforeAll(async () => {
  model = await startOpenAiServer();
  telegram = await platformStarts.telegram();
  stack = await startStack({ acceleration: 60 });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    userTimezone: "America/Chicago",
    channels: channelsOf([telegram], { dmPolicy: "open" }),
  });
  client = await stack.client();
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  await model?.close();
  await telegram?.close();
});

const fires = () => stack.logs.filter(({ event }) => event === "cron.fire").length;

it("a job that the agent adds is answered on Telegram at its time, once, although its schedule fires three times", async () => {
  const add = { action: "add", job: { schedule: "in 3 minutes", message: "Remind me to stretch" } };
  model.queue(
    { toolCalls: [{ name: "gsv__Cron", arguments: add }] },
    { text: "I will" },
    { text: "Time to stretch" },
  );
  expect((await telegram.deliver(stack.cloud.webhook, telegram.direct("remind me"))).status).toBe(200);
  await until(() => telegram.answers().includes("I will"), "it is promised");
  // Read the id from the tool's result: a finished job is no longer listed.
  const told = model.requests[1]?.turns.findLast(({ role }) => role === "tool")?.text ?? "";
  const { id: jobId, schedule } = (JSON.parse(told) as { result: { job: CronJob } }).result.job;
  if (schedule.kind !== "at") throw new Error("the job has no time of its own");
  const event = { kind: "cron", jobId, at: schedule.atMs };
  // Two fires at once, then the schedule itself, a sixtieth of three minutes after its creation.
  await Promise.all([stack.host.invoke("timer", event), stack.host.invoke("timer", event)]);
  await until(() => fires() === 3, "the schedule has fired too");
  await until(
    async () => (await client.call<{ jobs: CronJob[] }>("cron.list", {})).jobs.length === 0,
    "the run has ended",
  );
  const news = expect.stringContaining("Remind me to stretch");
  expect(telegram.answers()).toEqual([news, "I will", "Time to stretch"]);
  expect(await client.call("cron.runs", { jobId })).toMatchObject({
    count: 1,
    runs: [{ id: `cron-${jobId}-${schedule.atMs}`, jobId, status: "ok" }],
  });
  const asked = model.requests.at(-1)?.turns.findLast((turn) => turn.role === "user")?.text ?? "";
  expect(asked).toMatch(/^\[cron · \w+day, \w+ \d+, \d{4} — \d+:\d\d [AP]M C[SD]T\]\n/);
});

it("the methods answer clients only, and reject unknown and invalid params", async () => {
  const spec = { mode: "task", message: "x" };
  const every = { kind: "every", everyMs: 3_600_000 };
  const { job } = await client.call<{ job: CronJob }>("cron.add", {
    name: "hourly",
    schedule: every,
    spec,
    enabled: false,
  });
  expect(job).toMatchObject({ agentId: "main", enabled: false, state: {} });
  expect(await client.call("cron.status", {})).toMatchObject({
    enabled: true,
    count: 1,
    maxConcurrentRuns: 4,
  });
  expect(await client.call("cron.remove", { id: job.id })).toEqual({ ok: true, removed: true });
  const refusals: [string, object, number, string][] = [
    ["cron.remove", { id: job.id }, 404, "there is no job"],
    ["cron.update", { id: job.id, patch: {} }, 404, "there is no job"],
    ["cron.run", { id: job.id, mode: "force" }, 404, "there is no job"],
    ["cron.run", { mode: "force" }, 400, "id: is needed"],
    ["cron.add", { name: "a", spec, schedule: { kind: "cron", expr: "* * *" } }, 400, "5 fields"],
    ["cron.add", { name: "a", schedule: every }, 400, "spec"],
  ];
  for (const [method, params, code, message] of refusals) {
    const { error } = await client.request(method, params);
    expect([error?.code, error?.message], method).toEqual([code, expect.stringContaining(message)]);
  }
  const node = await stack.node("laptop", { Bash: () => undefined });
  for (const method of ["cron.status", "cron.list", "cron.runs", "cron.run"])
    expect((await node.request(method, {})).error?.code, method).toBe(403);
  await node.close();
});
