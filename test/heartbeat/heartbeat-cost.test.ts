import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { tokensOfBeat } from "../../cli/commands/agent/heartbeat-commands.ts";
import { costOf } from "./cost-of.ts";
import { HeartbeatBench } from "./heartbeat-bench.ts";

/** Beats a month by the default settings: each half hour from 8 to 23. */
const beatsPerMonth = 30 * 30;

const costs = () => readFileSync("docs/costs.md", "utf8");

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
afterAll(() => bench.close());

it("a month costs what docs/costs.md says: less than half a cent while there is nothing to look after", async () => {
  await bench.renew("2026-05-05T05:00:00Z");
  await bench.call("agent.init");
  await bench.state.bucket.delete("agents/main/BOOTSTRAP.md");
  await bench.call("heartbeat.start");
  await bench.beat();
  const skipped = (await costOf(bench, () => bench.beat())) * beatsPerMonth;
  await bench.write("HEARTBEAT.md", "In the morning, tell me what is in the calendar today.");
  await bench.beat();
  const asked = (await costOf(bench, () => bench.beat())) * beatsPerMonth;
  expect(costs()).toContain(`$${skipped.toFixed(3)}`);
  expect(costs()).toContain(`$${asked.toFixed(2)}`);
  expect(skipped).toBeLessThan(0.01);
});

it("a day's beats see each other, and what each sends to the model is what docs/costs.md says", async () => {
  await bench.renew("2026-05-05T05:00:00Z", { "session.defaultResetPolicy.mode": "daily" });
  await bench.call("agent.init");
  await bench.state.bucket.delete("agents/main/BOOTSTRAP.md");
  await bench.write("HEARTBEAT.md", "In the morning, tell me what is in the calendar today.");
  await bench.call("heartbeat.start");
  for (let count = 0; count < 30; count++) await bench.beat();
  const tokens = bench.model.requests.map(({ body }) => JSON.stringify(body).length / 4);
  const average = tokens.reduce((sum, one) => sum + one, 0) / tokens.length;
  const documented =
    /about ([\d,]+) tokens a beat: ([\d,]+) at the first of a day and ([\d,]+) at the last/.exec(costs());
  const [all = 0, first = 0, last = 0] = (documented ?? [])
    .slice(1)
    .map((text) => Number(text.replace(",", "")));
  expect(tokens).toHaveLength(30);
  expect(tokensOfBeat).toBe(all);
  // Tools come and go: the page has to follow a change that matters.
  for (const [sent = 0, said] of [
    [average, all],
    [tokens[0], first],
    [tokens.at(-1), last],
  ] as const) {
    expect(sent / said).toBeGreaterThan(0.7);
    expect(sent / said).toBeLessThan(1.3);
  }
  const [least, most] = [3, 3.75].map((usd) => ((beatsPerMonth * all * usd) / 1e6).toFixed(0));
  expect(costs().split(`$${least} to $${most}`)).toHaveLength(3);
});
