import { parseArgs } from "node:util";

export interface SimulateOptions {
  /** One line of JSON on standard output instead of a sentence. */
  json: boolean;
  schedules: number;
  /** Seed of the first schedule; each further one adds 1. */
  seed: number;
  /** Print every event in the schedule of `seed` to standard error. */
  trace: boolean;
}

export const usage = `npm run simulate -- [options]
  --schedules N  schedules to run (default 1000)
  --seed S       seed of the first; each next one has the next seed (default: a new one, which is printed)
  --json         the result as one line of JSON
  --trace        print everything that happens in the schedule of --seed, and run no other`;

/** An invalid command line, described in one sentence. */
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

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new UsageError(`--${name}: expected a whole number from ${min} to ${max}`);
}
