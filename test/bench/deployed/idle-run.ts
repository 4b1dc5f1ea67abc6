import { memoryMegabytes } from "../../../infra/constructs/gateway-functions.ts";
import { percentiles, round } from "../figures.ts";
import { startBundledStack } from "./bundled-stack.ts";

/** Runs before the measured ones: the first loads the code, the next ones open connections and are compiled. */
const warmUp = 20;
const runs = 200;

/** Memory for which Lambda gives a function one whole core, MB. */
const coreMegabytes = 1769;

/** A sweep of the deployed timer function, of a gateway that has nothing to do. */
export interface IdleRun {
  /** Duration with the delays of the real services and a whole core, ms (median). */
  ms: number;
  cpu_ms: number;
  /**
   * Duration on Lambda, ms: the function has a seventh of a core, so its CPU time takes seven times as long. This is the
   * upper bound: Lambda lets short work run at full speed.
   */
  billed_ms: number;
  /** Bytes that the function logs. */
  log_bytes: number;
}

/** Measures sweeps of the timer function's bundle over the emulated services. */
export async function measureIdleRun(bundles: string): Promise<IdleRun> {
  const stack = await startBundledStack({ name: "idle", bundles, maxInstances: 1 });
  const sweep = () => stack.fire("timer", { kind: "sweep" });
  for (let i = 0; i < warmUp; i++) await sweep();
  stack.durations.timer = [];
  stack.logged.bytes = 0;
  const before = stack.cpuMs("timer");
  for (let i = 0; i < runs; i++) await sweep();
  const cpuMs = (stack.cpuMs("timer") - before) / runs;
  const ms = percentiles(stack.durations.timer).p50;
  const log_bytes = stack.logged.bytes / runs;
  await stack.close();
  const slower = coreMegabytes / memoryMegabytes.timer - 1;
  return {
    ms,
    cpu_ms: round(cpuMs),
    billed_ms: Math.ceil(ms + cpuMs * slower),
    log_bytes: Math.ceil(log_bytes),
  };
}
