/** Calls `handle` at each SIGINT (Ctrl-C). Returns a function that ends this. */
export function onInterrupt(handle: () => void): () => void {
  process.on("SIGINT", handle);
  return () => process.off("SIGINT", handle);
}

/** Has this process ignore SIGINT (Ctrl-C) while `work` runs: it is for a program that has the terminal meanwhile. */
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
 * Stops this process and the others of its group, as Ctrl-Z does, until SIGCONT (`fg` of the shell). Returns then, or at
 * once where there is no job control.
 */
export function stopUntilContinued(): void {
  if (process.platform !== "win32") process.kill(0, "SIGTSTP");
}

/** Calls `handle` at each SIGCONT: the process goes on after it was stopped. Returns a function that ends this. */
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
