// @ts-check
/**
 * `npm run checks`: lint, types and synthesis at the same time. Each check's output is printed whole when it ends. The
 * exit code is 1 when one of them fails.
 */
import { spawn } from "node:child_process";

const checks = ["lint", "types", "synth"];

/**
 * Runs a script of package.json.
 * @param {string} name
 * @returns {Promise<boolean>} whether it passed
 */
function run(name) {
  return new Promise((resolve) => {
    const started = performance.now();
    const child = spawn("npm", ["run", "--silent", name], { stdio: ["ignore", "pipe", "pipe"] });
    /** @type {Buffer[]} */
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
    child.once("error", (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.once("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      process.stdout.write(`${name} ${code === 0 ? "passed" : "failed"} after ${seconds} s\n`);
      process.stdout.write(Buffer.concat(output));
      resolve(code === 0);
    });
  });
}

const passed = await Promise.all(checks.map(run));
process.exitCode = passed.every(Boolean) ? 0 : 1;
