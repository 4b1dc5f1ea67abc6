import { afterAll, beforeAll, expect, it } from "vitest";
import { HeartbeatBench, minute, owner } from "../heartbeat/heartbeat-bench.ts";
import { textUpdate } from "../support/platforms/telegram/telegram-updates.ts";

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
afterAll(() => bench.close());

const hour = 60 * minute;

it("a day of waiting invokes the agent for the reminder and the end, and nothing else", async () => {
  await bench.renew("2026-05-05T08:00:00Z", { "toolApproval.mode": "ask" });
  const write = { name: "gsv__WriteFile", arguments: { path: "asked.md", content: "x" } };
  const replies = [{ toolCalls: [write] }, { text: "nobody was there" }];
  bench.script = () => replies.shift()!;
  await bench.hear(textUpdate("go", { from: { id: owner } }));
  const start = bench.time;
  const hoursSince = () => (bench.time - start) / hour;
  const wakes: number[] = [];
  bench.wrap = (world) => ({
    ...world,
    wake: async (sessionKey) => {
      wakes.push(hoursSince());
      await world.wake(sessionKey);
    },
  });
  const fired: [kind: string, hours: number][] = [];
  while (bench.time < start + 26 * hour) {
    bench.time += 10 * minute;
    const due = bench.pending.filter(({ at }) => at <= bench.time);
    for (const one of due) {
      bench.pending.splice(bench.pending.indexOf(one), 1);
      fired.push([one.event.kind, hoursSince()]);
      await bench.fire(one.event);
      await bench.runAgents();
    }
    // Comes each minute on AWS, whether or not anything waits.
    await bench.fire({ kind: "sweep" });
    await bench.runAgents();
  }
  expect(fired).toEqual([
    ["approval-reminder", 1],
    ["tool-timeout", 24],
  ]);
  expect(wakes).toEqual([1, 24]);
  expect(bench.sent.map((text) => text.split("\n")[0])).toEqual([
    expect.stringContaining("May I use gsv__WriteFile?"),
    expect.stringContaining("May I use gsv__WriteFile?"),
    expect.stringContaining("nobody was there"),
  ]);
  expect(bench.model.requests).toHaveLength(2);
});
