/** `npm run check:aws`: runs third-party AWS tools against this project, each if it is installed. */
import { parseArgs } from "node:util";
import { checkAgainstMoto } from "./moto.ts";
import type { Found } from "./python.ts";
import { checkWithBoto3 } from "./second-client.ts";
import { lintExample, lintTemplate } from "./template-lint.ts";

const checks: Record<string, (python: string) => Promise<Found>> = {
  moto: checkAgainstMoto,
  "cfn-lint": lintTemplate,
  example: lintExample,
  boto3: checkWithBoto3,
};

const usage = `Checks this project with AWS tools of others, each where it is installed.

  npm run check:aws -- [--only CHECKS] [--python COMMAND] [--json]

  --only CHECKS     checks with commas between, of: ${Object.keys(checks).join(", ")}; all by default
  --python COMMAND  the Python that has the tools installed; python3 by default
  --json            print one line of JSON for each check: check, passed, faults, known, and skipped where it did not run

moto: the contracts of table, bucket and secrets against its server; cfn-lint: the synthesized template in four regions;
example: the same of examples/embedded; boto3: a second client of the local S3, DynamoDB and Scheduler. Exits with 1 when one finds a fault.
`;

function print({ check, passed, faults, known, skipped }: Found): void {
  if (skipped) return void process.stdout.write(`${check}: skipped: ${skipped}\n`);
  const also = known ? `, ${known} known differences or warnings` : "";
  process.stdout.write(`${check}: ${passed} passed, ${faults.length} failed${also}\n`);
  for (const fault of faults) process.stdout.write(`  ${fault}\n`);
}

const { values: options } = parseArgs({
  options: {
    help: { type: "boolean" },
    json: { type: "boolean" },
    only: { type: "string" },
    python: { type: "string", default: "python3" },
  },
});

const chosen = options.only?.split(",") ?? Object.keys(checks);
const unknown = chosen.filter((name) => !Object.hasOwn(checks, name));
if (options.help) {
  process.stdout.write(usage);
} else if (unknown.length > 0) {
  process.stderr.write(`no check is called ${unknown}\n\n${usage}`);
  process.exitCode = 2;
} else {
  for (const name of chosen) {
    const found = await checks[name]?.(options.python);
    if (!found) continue;
    if (options.json) process.stdout.write(`${JSON.stringify(found)}\n`);
    else print(found);
    if (found.faults.length > 0) process.exitCode = 1;
  }
}
