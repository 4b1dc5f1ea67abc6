import { describeAction } from "./load/actions.ts";
import { readOptions, UsageError, usage } from "./options.ts";
import { type Failure, runSchedules } from "./run-schedules.ts";
import { runSchedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.trace) {
    const { violations } = await runSchedule({ seed: options.seed, trace: say });
    for (const violation of violations) say(`wrong: ${violation}`);
    process.exitCode = violations.length > 0 ? 1 : 0;
    return;
  }
  const { failures, ...summary } = await runSchedules(options.seed, options.schedules);
  const [first] = failures;
  for (const { seed, violations } of failures.slice(1)) say(`seed ${seed}: ${violations[0]}`);
  if (first) await explain(first);
  const { schedules, seed, messages, violations, ms } = summary;
  const sentence = `${schedules} schedules from seed ${seed}, ${messages} messages: ${violations} with something wrong (${ms} ms)`;
  process.stdout.write(`${options.json ? JSON.stringify(summary) : sentence}\n`);
  process.exitCode = violations > 0 ? 1 : 0;
}

/** Prints the faults of a schedule, the actions and faults needed for them, and a trace. */
async function explain({ seed, violations }: Failure): Promise<void> {
  say(`seed ${seed}:`);
  for (const violation of violations) say(`  ${violation}`);
  const { actions, leftOut } = await shrink(seed);
  say("the minimum that reproduces it:");
  for (const action of actions) say(`  ${describeAction(action)}`);
  const smallest = await runSchedule({ seed, actions, leftOut, trace: say });
  for (const violation of smallest.violations) say(`wrong: ${violation}`);
}

await main().catch((error: Error) => {
  say(error instanceof UsageError ? `${error.message}\n\n${usage}` : String(error.stack));
  process.exitCode = 2;
});
