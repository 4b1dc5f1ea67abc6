import { parseArgs } from "node:util";
import { type Exploration, explore } from "./explore.ts";
import { deepJobScenarios, quickJobScenarios } from "./jobs/job-scenarios.ts";
import { deepScenarios, quickScenarios } from "./scenarios.ts";

/**
 * Explores all interleavings of the scenarios and prints a line of JSON for each, then one for all. Exits with 1 if a
 * violation was found, and with 3 if a scenario has too many states to explore them all.
 * `node test/conformance/start.mjs [--deep] [--states MAX] [part of a scenario's name]`
 */
const defaultStates = 16_000_000;

function print({ ends, violations, ...found }: Exploration, startedAt: number): void {
  const seconds = (Date.now() - startedAt) / 1000;
  console.log(JSON.stringify({ ...found, ends: ends.size, violations: violations.length, seconds }));
  for (const { faults, schedule } of violations) {
    console.log(faults.join("; "));
    for (const line of schedule) console.log(`  ${line}`);
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { deep: { type: "boolean" }, states: { type: "string" } },
});
const [wanted = ""] = positionals;
const maxStates = Number(values.states ?? defaultStates);
const scenarios = values.deep
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
if (!total.complete && total.violations === 0)
  console.error(
    `incomplete: a scenario has more than ${maxStates} states; set a larger --states, or make it smaller`,
  );
process.exitCode = total.violations > 0 ? 1 : total.complete ? 0 : 3;
