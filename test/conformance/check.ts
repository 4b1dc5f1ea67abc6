import { type Exploration, explore } from "./explore.ts";
import { deepJobScenarios, quickJobScenarios } from "./jobs/job-scenarios.ts";
import { deepScenarios, quickScenarios } from "./scenarios.ts";

/**
 * Explores all interleavings of the scenarios and prints a line of JSON for each, then one for all. Exits with 1 if a
 * violation was found. `node test/conformance/start.mjs [--deep] [part of a scenario's name]`
 */
const maxStates = 12_000_000;

function print({ ends, violations, ...found }: Exploration, startedAt: number): void {
  const seconds = (Date.now() - startedAt) / 1000;
  console.log(JSON.stringify({ ...found, ends: ends.size, violations: violations.length, seconds }));
  for (const { faults, schedule } of violations) {
    console.log(faults.join("; "));
    for (const line of schedule) console.log(`  ${line}`);
  }
}

const options = process.argv.slice(2);
const wanted = options.find((option) => !option.startsWith("--")) ?? "";
const scenarios = options.includes("--deep")
  ? [...deepScenarios, ...deepJobScenarios]
  : [...quickScenarios, ...quickJobScenarios];
const total = { scenarios: 0, states: 0, transitions: 0, violations: 0, complete: true };
for (const scenario of scenarios.filter(({ name }) => name.includes(wanted))) {
  const startedAt = Date.now();
  const found = await explore(scenario, { maxStates });
  print(found, startedAt);
  total.scenarios++;
  total.states += found.states;
  total.transitions += found.transitions;
  total.violations += found.violations.length;
  total.complete &&= found.complete;
}
console.log(JSON.stringify(total));
process.exitCode = total.violations === 0 ? 0 : 1;
