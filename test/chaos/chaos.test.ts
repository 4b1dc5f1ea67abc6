import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** Runs `npm run chaos` without npm, in a process of its own, because it changes the clock. Rejects unless it ends with 0. */
async function chaos(...args: string[]): Promise<Record<string, unknown>> {
  const main = new URL("./main.ts", import.meta.url).pathname;
  const { stdout } = await run(process.execPath, ["--import", "tsx", main, "--json", ...args]);
  return JSON.parse(stdout);
}

const nothingBad = {
  lost: 0,
  duplicated: 0,
  reordered: 0,
  stuck: 0,
  fencingViolations: 0,
  invalidTranscripts: 0,
};

it("finds nothing wrong when processes are killed at some of the calls of a turn", async () => {
  const result = await chaos("--enumerate", "--every", "70", "--seed", "1", "--minutes", "5");
  expect(result).toMatchObject(nothingBad);
  expect(result.kills).toBeGreaterThan(5);
  expect(result.answered).toBe(result.sent);
}, 360_000);

it("finds nothing wrong when processes are killed at random, with every other fault", async () => {
  const result = await chaos("--kills", "10", "--seed", "1", "--minutes", "5");
  expect(result).toMatchObject(nothingBad);
  expect(result.kills).toBeGreaterThanOrEqual(10);
  expect(result.answered).toBe(result.sent);
}, 360_000);
