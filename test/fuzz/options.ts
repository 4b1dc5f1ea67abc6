import { parseArgs } from "node:util";
import type { FuzzOptions } from "./fuzz.ts";

export const usage = `npm run fuzz -- [options]
  --json           the result as one line of JSON
  --frames N       frames of strangers, clients, nodes and bridges (default 100000)
  --deliveries N   requests to the webhook (default 10000)
  --seed S         what the attack is drawn from (default: a new one, which is printed)
  --only CASE      only one case of this seed, such as frame:412 or delivery:17
  --heap MB        maximum growth of the gateway's heap (default 512)`;

/** An invalid command line, described in one sentence. */
export class UsageError extends Error {}

/** @throws UsageError */
export function readOptions(args: string[]): FuzzOptions & { json: boolean } {
  const values = parse(args);
  const [, kind, index] = /^(frame|delivery):(\d{1,9})$/.exec(values.only ?? "") ?? [];
  if (values.only !== undefined && kind === undefined)
    throw new UsageError("--only: expected frame:N or delivery:N");
  return {
    json: values.json,
    frames: number("frames", values.frames, 10_000_000),
    deliveries: number("deliveries", values.deliveries, 1_000_000),
    seed: number("seed", values.seed, 2 ** 31),
    heapMb: number("heap", values.heap, 100_000),
    ...(kind === undefined ? {} : { only: { kind: kind as "frame" | "delivery", index: Number(index) } }),
  };
}

function parse(args: string[]) {
  const options = {
    json: { type: "boolean", default: false },
    frames: { type: "string", default: "100000" },
    deliveries: { type: "string", default: "10000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string" },
    heap: { type: "string", default: "512" },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function number(name: string, text: string, max: number): number {
  const value = Number(text);
  if (text !== "" && Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new UsageError(`--${name}: expected a whole number up to ${max}`);
}
