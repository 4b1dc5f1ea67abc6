/** Calls `handle` at each SIGINT (Ctrl-C). Returns a function that ends this. */
export function onInterrupt(handle: () => void): () => void {
  process.on("SIGINT", handle);
  return () => process.off("SIGINT", handle);
}

/**
 * Handles SIGINT, SIGTERM and SIGHUP until `dispose` is called. The first signal resolves `received`; a
 * second signal exits the process immediately with code 130.
 */
export function untilSignal(): { received: Promise<NodeJS.Signals>; dispose(): void } {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let handle: (signal: NodeJS.Signals) => void = () => undefined;
  const received = new Promise<NodeJS.Signals>((resolve) => {
    let seen = false;
    handle = (signal) => {
      if (seen) process.exit(130);
      seen = true;
      resolve(signal);
    };
  });
  for (const signal of signals) process.on(signal, handle);
  return {
    received,
    dispose: () => {
      for (const signal of signals) process.off(signal, handle);
    },
  };
}
