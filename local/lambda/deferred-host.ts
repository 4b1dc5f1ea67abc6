import { type FunctionHost, ThrottledError } from "./host.ts";

/**
 * A host that is set after its users, because the functions' environment names endpoints that need the host. It runs
 * no more functions at a time than the account may.
 */
export interface DeferredHost extends FunctionHost {
  set(host: FunctionHost): void;
  /** Invocations that were refused because too many ran. */
  throttled(): number;
  /** Waits until no invocation runs, at most `graceMs`. */
  settle(graceMs: number): Promise<void>;
}

/** @param concurrency most invocations at a time, of all functions together */
export function openDeferredHost(concurrency: number): DeferredHost {
  let host: FunctionHost | undefined;
  const running = new Set<Promise<unknown>>();
  let throttled = 0;

  return {
    get functions() {
      return host?.functions ?? [];
    },
    set(actual) {
      host = actual;
    },
    async invoke(name, event, trace) {
      if (host === undefined) throw new Error("the functions are not hosted yet");
      if (running.size >= concurrency) {
        throttled += 1;
        throw new ThrottledError();
      }
      const invocation = host.invoke(name, event, trace);
      running.add(invocation);
      return invocation.finally(() => running.delete(invocation));
    },
    throttled: () => throttled,
    async settle(graceMs) {
      const deadline = Date.now() + graceMs;
      while (running.size > 0 && Date.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 10));
    },
    async close() {
      await host?.close();
    },
  };
}
