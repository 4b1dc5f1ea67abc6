import { expect, it } from "vitest";
import { standIn } from "./engine/stand-ins.ts";
import type { Action } from "./load/actions.ts";
import { runSchedules } from "./run-schedules.ts";
import { runSchedule } from "./schedule.ts";

/** Far above the time of the schedules, so a busy machine fails no test. */
const patience = 900_000;

it(
  "300 schedules of users, faults and late events cause no violation",
  async () => {
    const { failures, messages, faults } = await runSchedules(1, 300);
    expect(failures).toEqual([]);
    expect(messages).toBeGreaterThan(600);
    for (const [name, count] of Object.entries(faults)) expect(count, name).toBeGreaterThan(10);
  },
  patience,
);

/** Everything that happens in a schedule. */
async function traceOf(seed: number, actions?: readonly Action[]): Promise<string[]> {
  const lines: string[] = [];
  await runSchedule({ seed, ...(actions ? { actions } : {}), trace: (line) => lines.push(line) });
  return lines;
}

it("a seed determines its schedule", async () => {
  const first = await traceOf(7);
  expect(first.length).toBeGreaterThan(100);
  expect(await traceOf(7)).toEqual(first);
  expect(await traceOf(8)).not.toEqual(first);
});

it("a schedule with its own actions handed over is the same schedule", async () => {
  const { actions } = await runSchedule({ seed: 7 });
  expect(await traceOf(7, actions)).toEqual(await traceOf(7));
});

it("a timer made before virtual time can be cancelled in it", async () => {
  let fired = false;
  const timer = setTimeout(() => {
    fired = true;
  }, 1);
  const putBack = standIn({ machine: () => ({}) as never, random: {} as never });
  clearTimeout(timer);
  putBack();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(fired).toBe(false);
});
