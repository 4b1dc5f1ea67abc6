import { listFaults, noteFault } from "../../shared/faults/faults.ts";
import { sweep } from "./sweep.ts";
import type { Timer } from "./timer.ts";

/** Sweeps, and notes when it woke a session: only an agent that ended early leaves one. */
export async function sweepAndNote(timer: Timer): Promise<void> {
  let wasLeft = false;
  try {
    await sweep(timer, () => {
      wasLeft = true;
    });
  } finally {
    if (wasLeft) await noteFault(timer.table, { name: "agent", kind: "left", at: timer.now() });
  }
}

const meanings = {
  errors: "logged errors",
  invocations: "was invoked more than ten times a second",
  left: "left a session with something to do",
};

/**
 * Fails on purpose while a function has noted a fault in the last quarter of an hour. The one alarm watches the
 * timer function's failures, and this makes it tell of those of all functions.
 * @throws Error that names the functions and what they noted
 */
export async function watch({ table, now }: Pick<Timer, "table" | "now">): Promise<void> {
  const faults = await listFaults(table, now());
  if (faults.length === 0) return;
  const told = faults.map(
    ({ name, kind, at }) => `the ${name} function ${meanings[kind]}, last at ${new Date(at).toISOString()}`,
  );
  throw new Error(`${told.join("; ")}: see the function's log`);
}
