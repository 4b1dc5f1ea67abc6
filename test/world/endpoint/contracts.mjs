// @ts-check
/**
 * `npm run contracts`: runs the contracts of the outside world's parts against a server that speaks the AWS APIs. Plain
 * JavaScript, because vitest loads in half the time without a loader that compiles sources.
 */
import { parseArgs } from "node:util";

/** The parts whose contracts can run against a foreign server, each in `{part}.contract.ts`. */
const parts = ["table", "bucket", "secrets"];

const usage = `Runs the contracts of the outside world against any server that speaks the AWS APIs.

  npm run contracts -- --endpoint URL [--only PARTS] [--cases PATTERN] [--table NAME] [--bucket NAME] [--json]

  --endpoint URL   the server, such as http://127.0.0.1:8000
  --only PARTS     parts with commas between, of: ${parts.join(", ")}; all by default
  --cases PATTERN  run the cases whose names have this regular expression in them; all by default
  --table NAME     use this table, which must have the application's keys and indexes, and leave items in it;
                   without it a table with a random name is made, and deleted at the end
  --bucket NAME    the same for the bucket, which must be empty, and is empty at the end
  --json           print one line of JSON: endpoint, passed, and failed as [{ name, message }]

Credentials and region come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION); without
them it signs with dummies, for us-east-1. Exits with 1 when a case fails.
`;

const { values: options } = parseArgs({
  options: {
    bucket: { type: "string" },
    cases: { type: "string" },
    endpoint: { type: "string" },
    help: { type: "boolean" },
    json: { type: "boolean" },
    only: { type: "string" },
    table: { type: "string" },
  },
});

const chosen = options.only?.split(",") ?? [...parts];
const unknown = chosen.filter((part) => !parts.includes(part));
if (options.help) {
  process.stdout.write(usage);
} else if (options.endpoint === undefined || unknown.length > 0) {
  const fault = options.endpoint === undefined ? "--endpoint is missing" : `no part is called ${unknown}`;
  process.stderr.write(`${fault}\n\n${usage}`);
  process.exitCode = 2;
} else {
  process.exitCode = await run(options.endpoint);
}

/**
 * @param {string} endpoint
 * @returns {Promise<number>} the exit code
 */
async function run(endpoint) {
  const { startVitest } = await import("vitest/node");
  const vitest = await startVitest("test", [], {
    config: false,
    watch: false,
    include: chosen.map((part) => `test/world/endpoint/${part}.contract.ts`),
    reporters: options.json ? [{}] : ["verbose"],
    testNamePattern: options.cases,
    // The parts share one process, which loads the AWS SDK once.
    isolate: false,
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    env: environment(endpoint),
  });
  const all = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
  // Cases that `--cases` leaves out are to be skipped; one whose preparation fails is not.
  const cases = all.filter((one) => one.options.mode === "run");
  const passed = cases.filter((one) => one.result().state === "passed").length;
  const failed = cases.filter((one) => one.result().state === "failed").map(described);
  const broken = vitest.state.getTestModules().flatMap((module) => module.errors());
  await vitest.close();
  for (const { message } of broken) failed.push({ name: "the contract itself", message });
  if (options.json) process.stdout.write(`${JSON.stringify({ endpoint, passed, failed })}\n`);
  return failed.length > 0 || passed < cases.length || cases.length === 0 ? 1 : 0;
}

/** @param {import("vitest/node").TestCase} one */
function described(one) {
  const [error] = one.result().errors ?? [];
  return { name: one.fullName, message: error?.message ?? "" };
}

/**
 * @param {string} endpoint
 * @returns {Record<string, string>}
 */
function environment(endpoint) {
  const { AWS_ACCESS_KEY_ID = "CONTRACTS", AWS_SECRET_ACCESS_KEY = "contracts" } = process.env;
  return {
    AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY,
    AWS_REGION: process.env.AWS_REGION ?? "us-east-1",
    AWS_ENDPOINT_URL: endpoint,
    ...(options.table === undefined ? {} : { CONTRACTS_TABLE: options.table }),
    ...(options.bucket === undefined ? {} : { CONTRACTS_BUCKET: options.bucket }),
  };
}
