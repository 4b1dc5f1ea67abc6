/** Calls `handle` at each SIGINT (Ctrl-C). Returns a function that unsubscribes. */
export function onInterrupt(handle: () => void): () => void {
  process.on("SIGINT", handle);
  return () => process.off("SIGINT", handle);
}

/** Ignores SIGINT (Ctrl-C) while `work` runs another program in the terminal: the signal is meant for that program. */
export async function withoutInterrupts<T>(work: () => Promise<T>): Promise<T> {
  const handlers = process.listeners("SIGINT");
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  for (const handler of handlers) process.off("SIGINT", handler);
  try {
    return await work();
  } finally {
    for (const handler of handlers) process.on("SIGINT", handler);
    process.off("SIGINT", ignore);
  }
}

/**
 * Stops this process group, as Ctrl-Z does. Returns after SIGCONT (`fg` of the shell), or at once on a platform without
 * job control.
 */
export function stopUntilContinued(): void {
  if (process.platform !== "win32") process.kill(0, "SIGTSTP");
}

/** Calls `handle` at each SIGCONT, when the stopped process continues. Returns a function that unsubscribes. */
export function onContinue(handle: () => void): () => void {
  if (process.platform === "win32") return () => undefined;
  process.on("SIGCONT", handle);
  return () => process.off("SIGCONT", handle);
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
