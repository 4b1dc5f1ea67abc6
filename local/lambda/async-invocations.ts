import type { FunctionHost } from "./host.ts";

/** Asynchronous invocations: accepted at once, run afterwards, tried again when they fail. */
export interface AsyncInvocations {
  /**
   * Accepts an event.
   * @returns resolves once the event has been handled or given up; never rejects
   */
  invoke(name: string, event: unknown): Promise<"handled" | "dead">;
  /** Starts no more attempts. */
  close(): void;
}

export interface AsyncInvocationOptions {
  host: FunctionHost;
  /** Pauses before the second and the third attempt, in milliseconds. Lambda waits one and two minutes. */
  retryDelaysMs?: readonly number[];
  /** Whether to deliver an event twice, as Lambda may at any time. */
  duplicate?: (name: string, event: unknown) => boolean;
  /** How long to hold an event back, in milliseconds. */
  delayMs?: (name: string, event: unknown) => number;
  /** Told of each failed attempt; `last` when the event is given up. */
  onFailure?: (name: string, event: unknown, error: unknown, last: boolean) => void;
}

/**
 * Lambda's queue of asynchronous events: a failed event is tried twice more and then given up. It lives in memory;
 * the functions' design makes a lost event a delay, since what it was about stands in the table.
 */
export function openAsyncInvocations(options: AsyncInvocationOptions): AsyncInvocations {
  const { host, retryDelaysMs = [1000, 2000], onFailure } = options;
  const timers = new Map<NodeJS.Timeout, () => void>();
  let closed = false;

  /** Ends early when this is closed. */
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

  async function deliver(name: string, event: unknown): Promise<"handled" | "dead"> {
    await pause(options.delayMs?.(name, event) ?? 0);
    for (let attempt = 0; !closed; attempt += 1) {
      try {
        await host.invoke(name, event);
        return "handled";
      } catch (error) {
        const delay = retryDelaysMs[attempt];
        onFailure?.(name, event, error, delay === undefined);
        if (delay === undefined) return "dead";
        await pause(delay);
      }
    }
    return "dead";
  }

  return {
    async invoke(name, event) {
      const copies = options.duplicate?.(name, event) ? 2 : 1;
      const outcomes = await Promise.all(Array.from({ length: copies }, () => deliver(name, event)));
      return outcomes.includes("handled") ? "handled" : "dead";
    },
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
