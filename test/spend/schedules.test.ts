import { expect, it } from "vitest";
import { type Fault, runSchedule } from "./schedules.ts";

/** So many that this ends within seconds; `SCHEDULES=20000 npx vitest run test/spend/schedules.test.ts` runs more. */
const schedules = Number(process.env.SCHEDULES ?? 250);

it("a day's sum equals what the sessions know, and nothing is spent beyond a limit, whatever crashes or repeats", {
  timeout: 0,
}, async () => {
  const found: string[] = [];
  let crashes = 0;
  for (let seed = 1; seed <= schedules; seed++) {
    const verdict = await runSchedule(seed);
    crashes += verdict.crashes;
    found.push(...verdict.problems.map((problem) => `${seed}: ${problem}`));
  }
  expect(found).toEqual([]);
  expect(crashes).toBeGreaterThan(schedules);
});

it.each([15_538, 17_581, 19_002, 19_100])(
  "schedule %i: a reservation that two later holders found is counted, although both numbered their charges alike",
  async (seed) => {
    expect((await runSchedule(seed)).problems).toEqual([]);
  },
);

it.each<Fault>(["no epoch", "half of an interrupted call", "plain add"])(
  "the schedules find the fault: %s",
  async (fault) => {
    let found = 0;
    for (let seed = 1; seed <= 300 && found === 0; seed++)
      found += (await runSchedule(seed, fault)).problems.length;
    expect(found).toBeGreaterThan(0);
  },
);
