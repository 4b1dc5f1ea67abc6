import { afterAll, describe, expect, it } from "vitest";
import type { TableCall } from "../../../local/items/table-call.ts";
import { explore } from "../explore.ts";
import { Behaviour } from "../model/behaviour.ts";
import { jobModel } from "./job-model.ts";
import { jobMutations } from "./job-mutations.ts";
import { quickJobScenarios } from "./job-scenarios.ts";

/** Far above the time of one exploration, so a busy machine fails no test. */
const patience = 180_000;

let behaviour = new Behaviour(jobModel);

// It is large, and a worker that runs other files later would retain it.
afterAll(() => {
  behaviour = new Behaviour(jobModel);
});

const scenarioOf = (name: string) => {
  const found = quickJobScenarios.find((one) => one.name === name);
  if (!found) throw new Error(`there is no scenario ${name}`);
  return found;
};

describe("every interleaving of fires, edits, forced runs and ends of a job", () => {
  it.each(quickJobScenarios.map((one) => [one.name, one] as const))(
    "claims each time once, loses no run and keeps the limit: %s",
    async (_, one) => {
      const { complete, violations, states } = await explore(one, { behaviour });
      expect(violations).toEqual([]);
      expect(complete).toBe(true);
      expect(states).toBeGreaterThan(100);
    },
    patience,
  );
});

describe("the check of jobs", () => {
  const found: [keyof typeof jobMutations, string, RegExp][] = [
    ["the epoch of an edit", "a job: an edit", /claimed twice/],
    ["the epoch of a claim", "a job: two fires", /claimed twice|replaced another/],
    ["the epoch of an admission", "a job: two fires", /claimed twice/],
    ["the epoch of a run's end", "a job: forced", /removed before its end/],
    ["the epoch of a claim given up", "two jobs: one slot, a crash", /removed before its end/],
  ];
  it.each(found)(
    "finds a fault when a write lacks %s",
    async (name, scenario, fault) => {
      const mutate: (call: TableCall) => TableCall = jobMutations[name];
      const { violations } = await explore({ ...scenarioOf(scenario), mutate }, { behaviour });
      expect(violations).toHaveLength(1);
      expect(violations[0]?.faults.join("; ")).toMatch(fault);
    },
    patience,
  );
});
