import { metaKey, type SessionState, toState } from "../../../shared/session/state.ts";
import type { Item } from "../../../shared/world/world.ts";
import type { World } from "../world.ts";

/** Between two sweeps, in milliseconds. The deployed one comes every minute. */
const sweepEveryMs = 30_000;

/** Lets the sweep come more often than its schedule does. @returns what ends it */
export function sweepOften({ cloud }: Pick<World, "cloud">): () => void {
  // A sweep that is killed is one that never came.
  const timer = setInterval(
    () => cloud.fire("timer", { kind: "sweep" }).catch(() => undefined),
    sweepEveryMs,
  );
  return () => clearInterval(timer);
}

/**
 * Waits until no session has anything left to do.
 * @param maxMs after this long it gives up, and what is left is for the verdict to name
 */
export async function untilQuiet(world: Pick<World, "table" | "journal">, maxMs: number): Promise<void> {
  const deadline = Date.now() + maxMs;
  let left = world.journal.sessions();
  while (left.length > 0 && Date.now() < deadline) {
    const states = await Promise.all(left.map((sessionKey) => world.table.get(metaKey(sessionKey))));
    left = states
      .filter((item) => item && !isQuiet(toState(item as Item)))
      .map((item) => toState(item as Item).sessionKey);
    if (left.length > 0) await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function isQuiet({ run, inbox, leaseUntil }: SessionState): boolean {
  return run === undefined && inbox.length === 0 && (leaseUntil ?? 0) < Date.now();
}
