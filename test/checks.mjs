// @ts-check
/**
 * `npm run checks`: lint, types and synthesis in parallel. `npm test` (`--tests`): the tests in parallel with lint and
 * types, because many tests wait and leave the machine idle. The tests run the synthesis themselves, see
 * `test/support/run/bundles.ts`. The tests' output is printed immediately; a check's output follows as a whole. The exit
 * code is 1 if one of them fails.
 */
import { spawn } from "node:child_process";

const withTests = process.argv.includes("--tests");

/**
 * Runs a script of package.json.
 * @param {string} name
 * @param {boolean} isShown whether its output is printed immediately
 * @returns {Promise<{ passed: boolean, report: Buffer }>} `report`: one line, and the output that was not printed yet
 */
function run(name, isShown) {
  return new Promise((resolve) => {
    const started = performance.now();
    const stdio = isShown ? "inherit" : "pipe";
    const child = spawn("npm", ["run", "--silent", name], { stdio: ["ignore", stdio, stdio] });
    /** @type {Buffer[]} */
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => output.push(chunk));
    child.once("error", (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.once("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const line = `${name} ${code === 0 ? "passed" : "failed"} after ${seconds} s\n`;
      resolve({ passed: code === 0, report: Buffer.concat([Buffer.from(line), ...output]) });
    });
  });
}

const tests = withTests ? [run("vitest", true)] : [];
const checks = ["lint", "types", ...(withTests ? [] : ["synth"])].map((name) => run(name, false));
const ended = [...(await Promise.all(tests)), ...(await Promise.all(checks))];
for (const { report } of ended) process.stdout.write(report);
process.exitCode = ended.every(({ passed }) => passed) ? 0 : 1;
