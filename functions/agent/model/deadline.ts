/** Aborts at a point in time, or earlier with another signal. */
export interface Deadline {
  signal: AbortSignal;
  /** True once the time has passed. */
  readonly passed: boolean;
  /** Time until it passes, in milliseconds. */
  leftMs(): number;
}

/**
 * Runs work under a deadline, and removes its timer and listener when the work ends. The signals of `AbortSignal.any` and
 * `AbortSignal.timeout` would stay in memory with their listeners until the time has passed.
 */
export async function withDeadline<T>(
  earlier: AbortSignal,
  timeoutMs: number,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const endsAt = Date.now() + timeoutMs;
  const end = () => controller.abort();
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    end();
  }, timeoutMs);
  if (earlier.aborted) end();
  earlier.addEventListener("abort", end);
  const deadline: Deadline = {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    leftMs: () => endsAt - Date.now(),
  };
  try {
    return await work(deadline);
  } finally {
    clearTimeout(timer);
    earlier.removeEventListener("abort", end);
  }
}
