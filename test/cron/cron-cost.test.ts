import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { recordRun, runId } from "../../shared/cron/run-history.ts";
import { costOf } from "../heartbeat/cost-of.ts";
import { HeartbeatBench, minute } from "../heartbeat/heartbeat-bench.ts";

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
afterAll(() => bench.close());

/** Moves the clock to the time of the job's next run, and processes it. */
async function runOnce(): Promise<void> {
  const due = bench.pending.shift();
  if (due?.event.kind !== "cron") throw new Error("no run is scheduled");
  bench.time = due.at;
  await bench.fire(due.event);
  await bench.runAgents();
}

it("a job's runs cost what docs/cron.md states, also for a job with a full history", async () => {
  await bench.renew("2026-05-05T08:00:00Z");
  bench.reply = { text: "Nothing new." };
  const { job } = await bench.call("cron.add", {
    name: "mail",
    schedule: { kind: "every", everyMs: 60 * minute },
    spec: { mode: "task", message: "Summarise the mail of the last day" },
  });
  for (let i = 1; i <= 200; i++) {
    const at = bench.time - i * 60 * minute;
    const summary = `Queued to agent:main:cron:${job.id}; its answer goes to clients`;
    const run = { id: runId(job.id, at), jobId: job.id, ts: at, summary, durationMs: 3000 };
    await recordRun(bench.state.table, at, { ...run, status: "ok", nextRunAtMs: at + 60 * minute });
  }
  await runOnce();
  const usd = await costOf(bench, runOnce);
  expect(bench.model.requests).toHaveLength(2);
  const page = readFileSync("docs/cron.md", "utf8");
  expect(page).toContain(`about ${(usd * 1000 * 100).toFixed(0)} cents for 1,000 runs`);
  const rows = [...page.matchAll(/^\| every [a-z0-9 ]+ \| ([\d,]+) \| \$([\d.]+) \| \$([\d.]+) \|$/gm)];
  expect(rows).toHaveLength(3);
  const modelUsd = (8000 * 3 + 500 * 15) / 1e6;
  for (const [row, runs = "", aws = "", model = ""] of rows) {
    const count = Number(runs.replace(",", ""));
    const shownAs = (shown: string, amount: number) => amount.toFixed(shown.split(".")[1]?.length ?? 0);
    expect([aws, model], row).toEqual([shownAs(aws, usd * count), shownAs(model, modelUsd * count)]);
  }
});
