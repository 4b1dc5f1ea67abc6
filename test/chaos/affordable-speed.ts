import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { unreachableEnvironment } from "../support/unreachable-environment.ts";

const run = promisify(execFile);

/** Faster than this nothing is won: the work itself takes its time. */
const maxSpeed = 8;
/** A cold start shall look to the system as if it took at most this long; on Lambda it does not. Milliseconds. */
const coldStartMs = 4000;
const startedTogether = 6;

/**
 * How much faster than real time clocks can go, so that this machine, busy as it is now, does not look like one on
 * which every timeout passes.
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
