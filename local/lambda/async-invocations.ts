import { type FunctionHost, ThrottledError } from "./host.ts";

/** Asynchronous invocations: accepted immediately, run later, retried after failures. */
export interface AsyncInvocations {
  /**
   * Accepts an event.
   * @param trace the invocation's trace header, see `countInLineage`
   * @returns resolves when the event is handled, or `dead` after the last failed attempt; never rejects
   */
  invoke(name: string, event: unknown, trace?: string): Promise<"handled" | "dead">;
  /** Gives an event up that Lambda accepts and does not run. */
  refuse(name: string, event: unknown, reason: Error): void;
  /** Starts no more attempts. */
  close(): void;
}

export interface AsyncInvocationOptions {
  host: FunctionHost;
  /** Pauses before the second and the third attempt, in milliseconds. Lambda's own by default: one and two minutes. */
  retryDelaysMs?: readonly number[];
  /** Whether to deliver an event twice, as Lambda may at any time. */
  duplicate?: (name: string, event: unknown) => boolean;
  /** How long to hold an event back, in milliseconds. */
  delayMs?: (name: string, event: unknown) => number;
  /** Called after each failed attempt. `last`: there is no further attempt. */
  onFailure?: (name: string, event: unknown, error: unknown, last: boolean) => void;
}

const lambdaRetryDelaysMs = [60_000, 120_000];

/** Pauses after which an event that was throttled is tried again: doubled from the first to the longest. */
const throttlePauseMs = { first: 1000, longest: 300_000 };

/** Age at which an event that was throttled is given up. */
const longestAgeMs = 6 * 60 * 60_000;

/**
 * Lambda's queue of asynchronous events. A failed event is retried twice and then dropped; one that was throttled is
 * kept for hours. The queue is in memory: a lost event only causes a delay, because its work is also recorded in the
 * table.
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
 */
export function openAsyncInvocations(options: AsyncInvocationOptions): AsyncInvocations {
  const { host, retryDelaysMs = lambdaRetryDelaysMs, onFailure } = options;
  const timers = new Map<NodeJS.Timeout, () => void>();
  let closed = false;

  /** Resolves after `ms`, or when the queue is closed. */
  function pause(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        resolve();
      }, ms);
      timers.set(timer, resolve);
    });
  }

  /** Runs the function once there is room for it. @throws what the function fails with; ThrottledError after hours */
  async function run(name: string, event: unknown, trace: string | undefined): Promise<void> {
    const giveUpAt = Date.now() + longestAgeMs;
    for (let pauseMs = throttlePauseMs.first; ; pauseMs = Math.min(2 * pauseMs, throttlePauseMs.longest)) {
      try {
        await host.invoke(name, event, trace);
        return;
      } catch (error) {
        if (closed || !(error instanceof ThrottledError) || Date.now() + pauseMs > giveUpAt) throw error;
        await pause(pauseMs);
      }
    }
  }

  async function deliver(name: string, event: unknown, trace?: string): Promise<"handled" | "dead"> {
    await pause(options.delayMs?.(name, event) ?? 0);
    for (let attempt = 0; !closed; attempt += 1) {
      try {
        await run(name, event, trace);
        return "handled";
      } catch (error) {
        const delay = error instanceof ThrottledError ? undefined : retryDelaysMs[attempt];
        onFailure?.(name, event, error, delay === undefined);
        if (delay === undefined) return "dead";
        await pause(delay);
      }
    }
    return "dead";
  }

  return {
    async invoke(name, event, trace) {
      const copies = options.duplicate?.(name, event) ? 2 : 1;
      const outcomes = await Promise.all(Array.from({ length: copies }, () => deliver(name, event, trace)));
      return outcomes.includes("handled") ? "handled" : "dead";
    },
    refuse: (name, event, reason) => onFailure?.(name, event, reason, true),
    close() {
      closed = true;
      for (const [timer, resolve] of timers) {
        clearTimeout(timer);
        resolve();
      }
      timers.clear();
    },
  };
}
