import type { FunctionHost } from "./host.ts";

/** Asynchronous invocations: accepted immediately, run later, retried after failures. */
export interface AsyncInvocations {
  /**
   * Accepts an event.
   * @returns resolves when the event is handled, or `dead` after the last failed attempt; never rejects
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
  /** Called after each failed attempt. `last`: there is no further attempt. */
  onFailure?: (name: string, event: unknown, error: unknown, last: boolean) => void;
}

/**
 * Lambda's queue of asynchronous events. A failed event is retried twice and then dropped. The queue is in
 * memory: a lost event only causes a delay, because its work is also recorded in the table.
 */
export function openAsyncInvocations(options: AsyncInvocationOptions): AsyncInvocations {
  const { host, retryDelaysMs = [1000, 2000], onFailure } = options;
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
