import { memoryMegabytes } from "../../infra/constructs/gateway-functions.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import type { World } from "../../shared/world/world.ts";
import { prices } from "../bench/deployed/prices.ts";
import type { HeartbeatBench } from "./heartbeat-bench.ts";
import { Bill, pricedBucket, pricedSchedules, pricedTable } from "./priced-world.ts";

/** How long the model answers, as in `npm run bench`. Milliseconds. */
const modelMs = 3000;
/** Loading a cold function's code. Milliseconds. */
const coldMs = 150;
/** What Lambda itself writes for an invocation, bytes. */
const platformLogBytes = 350;

const bill = new Bill();

function priced(world: World): World {
  const { table, bucket, schedules } = world;
  return {
    ...world,
    table: pricedTable(table, bill),
    bucket: pricedBucket(bucket, bill),
    schedules: pricedSchedules(schedules, bill),
  };
}

/**
 * What the timer and the agent cost for some work, without the model, in US dollars: cold functions, and every call after
 * the other.
 * @param work one invocation of the timer, and of the agent when the model is asked
 */
export async function costOf(bench: HeartbeatBench, work: () => Promise<void>): Promise<number> {
  let logged = 0;
  const restore = setLogOutput((line) => {
    logged += Buffer.byteLength(line) + 1;
  });
  bill.clear(coldMs);
  const asked = bench.model.requests.length;
  const { wrap } = bench;
  bench.wrap = priced;
  try {
    await work();
  } finally {
    bench.wrap = wrap;
    restore();
  }
  const isAsked = bench.model.requests.length > asked;
  const memory = memoryMegabytes[isAsked ? "agent" : "timer"] / 1024;
  const invocations = isAsked ? 2 : 1;
  const ms = bill.ms + (isAsked ? modelMs + coldMs : 0);
  const lambda = invocations * prices.lambdaInvocation + (ms / 1000) * memory * prices.lambdaGbSecond;
  return bill.usd + lambda + ((logged + invocations * platformLogBytes) / 1e9) * prices.logsGb;
}
