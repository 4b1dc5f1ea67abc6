/** A signal that aborts at a deadline, or earlier when another signal does. */
export interface Deadline {
  signal: AbortSignal;
  /** True once the time has passed. */
  readonly passed: boolean;
  /** Time until it passes, in milliseconds. */
  leftMs(): number;
}

/**
 * Runs work under a deadline. When the work has ended nothing of the deadline is left: the signals of `AbortSignal.any`
 * and `AbortSignal.timeout` stay in memory, with all that listens to them, until the time has passed.
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
