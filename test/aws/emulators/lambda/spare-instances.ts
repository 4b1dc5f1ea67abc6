import { FunctionInstance, type FunctionInstanceOptions } from "./function-instance.ts";

/** Processes that outlive their host, for the next one to use. Starting a process takes longer than most events. */
export interface SpareInstances {
  /** A spare process with the same code, or else a new one. */
  start(options: FunctionInstanceOptions): FunctionInstance;
  /** Keeps an instance that runs no event. It does not keep this process running, and ends with it. */
  keep(instance: FunctionInstance): void;
  /** Ends the processes that no host uses. */
  close(): Promise<void>;
}

/** Begins with no process. */
export function openSpareInstances(): SpareInstances {
  const spares = new Set<FunctionInstance>();
  return {
    start(options) {
      for (const spare of spares) {
        if (!spare.runs(options)) continue;
        spares.delete(spare);
        spare.renew(options);
        return spare;
      }
      return new FunctionInstance(options);
    },
    keep(instance) {
      instance.retire();
      spares.add(instance);
      void instance.ended.then(() => spares.delete(instance));
    },
    async close() {
      const idle = [...spares];
      for (const spare of idle) spare.kill();
      await Promise.all(idle.map(({ ended }) => ended));
    },
  };
}
