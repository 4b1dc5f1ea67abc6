import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { unreachableEnvironment } from "../support/unreachable-environment.ts";

const run = promisify(execFile);

/** A higher speed saves no time: the limit is then the work itself. */
const maxSpeed = 8;
/** Maximum time of a cold start by the run's clock, in milliseconds. On Lambda it takes less. */
const coldStartMs = 4000;
const startedTogether = 6;

/**
 * How much faster than real time clocks can go without making this machine, under its present load, so slow that
 * timeouts expire.
 * @param bundle the module that a cold start loads
 */
export async function affordableSpeed(bundle: string): Promise<number> {
  const load = `import(${JSON.stringify(pathToFileURL(bundle).href)}).then(() => process.exit())`;
  const begun = performance.now();
  const start = () => run(process.execPath, ["-e", load], { env: unreachableEnvironment });
  await Promise.all(Array.from({ length: startedTogether }, start));
  const took = performance.now() - begun;
  return Math.max(1, Math.min(maxSpeed, Math.floor(coldStartMs / took)));
}
