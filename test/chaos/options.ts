import { parseArgs } from "node:util";

export interface ChaosOptions {
  /** One line of JSON on standard output instead of a table. */
  json: boolean;
  /** Kill at every call of a turn, one after the other, instead of random faults. */
  enumerate: boolean;
  /** Try only every n-th point of an enumeration; 1 tries all. */
  every: number;
  kills: number;
  seed: number;
  /** Seconds of the run's clock in one real second; undefined to measure what this machine can do. */
  speed: number | undefined;
  /** Keep the functions' logs even if nothing was found. */
  keep: boolean;
  /** Real minutes after which a run gives up. */
  minutes: number;
}

export const usage = `npm run chaos -- [options]
  --json         the result as one line of JSON
  --kills N      processes to kill at random under load (default 300)
  --seed S       what the faults are drawn from (default: a new one, which is printed)
  --enumerate    instead: kill before and after every AWS call of a turn, one turn for each
  --every N      of these points only every n-th (default 1)
  --speed X      how much faster than real time the run's clocks go (default: what the machine can do, at most 8)
  --keep         keep the functions' logs, even if nothing is found
  --minutes M    give up after so many real minutes (default 120)`;

/** An invalid command line, described in one sentence. */
export class UsageError extends Error {}

/** @throws UsageError */
export function readOptions(args: string[]): ChaosOptions {
  const values = parse(args);
  return {
    json: values.json,
    enumerate: values.enumerate,
    keep: values.keep,
    every: number("every", values.every, 1, 10_000),
    kills: number("kills", values.kills, 1, 100_000),
    seed: number("seed", values.seed, 0, 2 ** 31),
    speed: values.speed === undefined ? undefined : number("speed", values.speed, 1, 30),
    minutes: number("minutes", values.minutes, 1, 600),
  };
}

function parse(args: string[]) {
  const options = {
    json: { type: "boolean", default: false },
    enumerate: { type: "boolean", default: false },
    every: { type: "string", default: "1" },
    keep: { type: "boolean", default: false },
    kills: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    speed: { type: "string" },
    minutes: { type: "string", default: "120" },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new UsageError(`--${name}: expected a whole number from ${min} to ${max}`);
}
