/**
 * Waits for Ctrl-C or a request to end. Until it is disposed of, the first signal only resolves `received`; a second
 * one ends the process at once, for whoever does not want to wait for a clean end.
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
