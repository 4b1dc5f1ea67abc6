import { parseArgs } from "node:util";

export interface SimulateOptions {
  /** One line of JSON on standard output instead of a sentence. */
  json: boolean;
  schedules: number;
  /** Of the first schedule; the next has the next one. */
  seed: number;
  /** Everything that happens in the schedule of `seed`, on standard error. */
  trace: boolean;
}

export const usage = `npm run simulate -- [options]
  --schedules N  schedules to run (default 1000)
  --seed S       seed of the first; each next one has the next seed (default: a new one, which is printed)
  --json         the result as one line of JSON
  --trace        print everything that happens in the schedule of --seed, and run no other`;

/** What is wrong with the command line, in one sentence. */
export class UsageError extends Error {}

/** @throws UsageError */
export function readOptions(args: string[]): SimulateOptions {
  const options = {
    json: { type: "boolean", default: false },
    schedules: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    trace: { type: "boolean", default: false },
  } as const;
  let values: { json: boolean; schedules: string; seed: string; trace: boolean };
  try {
    values = parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { json, trace } = values;
  const schedules = trace ? 1 : wholeNumber("schedules", values.schedules, 1, 10_000_000);
  return { json, trace, schedules, seed: wholeNumber("seed", values.seed, 0, 2 ** 31) };
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new UsageError(`--${name}: expected a whole number from ${least} to ${most}`);
}
