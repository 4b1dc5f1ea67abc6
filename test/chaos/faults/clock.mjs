/**
 * Makes time run faster, the same in every process of a run: clocks, timers and abort timeouts. So leases, sweeps,
 * timeouts and retries keep the lengths they are deployed with, and what waits for minutes takes seconds. Plain
 * JavaScript, because function processes load it with `--import` before their bundle; the bundle is not touched.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

/** Name of the environment variable that carries the settings to a process, as JSON. */
export const clockVariable = "CHAOS_CLOCK";

/**
 * @param {{speed: number, base: number, skewMs?: number}} settings `speed`: seconds that pass in one real second;
 *   `base`: the real epoch milliseconds at which both clocks agree; `skewMs`: how far this process's clock is ahead
 */
export function installClock({ speed, base, skewMs = 0 }) {
  const RealDate = Date;
  const realNow = Date.now.bind(Date);
  const now = () => Math.floor(base + (realNow() - base) * speed + skewMs);

  class FastDate extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(now());
      else super(...args);
    }
    static now() {
      return now();
    }
  }
  globalThis.Date = FastDate;

  const timers = createRequire(import.meta.url)("node:timers");
  const { promises } = timers;
  const sleep = promises.setTimeout;
  promises.setTimeout = (ms, value, options) => sleep((ms ?? 0) / speed, value, options);
  for (const name of ["setTimeout", "setInterval"]) {
    const real = globalThis[name];
    timers[name] = (callback, ms, ...args) => real(callback, (ms ?? 0) / speed, ...args);
    globalThis[name] = timers[name];
  }
  timers.setTimeout[promisify.custom] = promises.setTimeout;
  syncBuiltinESMExports();

  const abortAfter = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => abortAfter(Math.ceil(ms / speed));
}

if (process.env[clockVariable]) installClock(JSON.parse(process.env[clockVariable]));
