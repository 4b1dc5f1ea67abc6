import { parseArgs } from "node:util";

export interface ChaosOptions {
  /** One line of JSON on standard output instead of a table. */
  json: boolean;
  /** Every call of a turn, one after the other, instead of faults at random. */
  enumerate: boolean;
  /** Of the points of an enumeration only every n-th; 1 is all. */
  every: number;
  kills: number;
  seed: number;
  /** Seconds that pass in one real second; undefined for what this machine can do. */
  speed: number | undefined;
  /** Keep the functions' logs also when nothing was found. */
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
  --speed X      how much faster than real time the run's clocks go (default: what the machine can do, 8 at most)
  --keep         keep the functions' logs, also when nothing is found
  --minutes M    give up after so many real minutes (default 120)`;

/** What is wrong with the command line, in one sentence. */
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
function number(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new UsageError(`--${name}: expected a whole number from ${least} to ${most}`);
}
