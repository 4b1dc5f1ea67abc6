import { metaKey, type SessionState, toState } from "../../../shared/session/state.ts";
import type { Item } from "../../../shared/world/world.ts";
import type { World } from "../world.ts";

/** Time between two sweeps, in milliseconds. The deployed schedule is one minute. */
const sweepEveryMs = 30_000;

/** Sweeps more often than the schedule. @returns a function that stops it */
export function sweepOften({ cloud }: Pick<World, "cloud">): () => void {
  // A failed sweep has no effect: the next one follows.
  const timer = setInterval(
    () => cloud.fire("timer", { kind: "sweep" }).catch(() => undefined),
    sweepEveryMs,
  );
  return () => clearInterval(timer);
}

/**
 * Waits until no session has work to do.
 * @param maxMs when to stop waiting; the verdict then names the remaining work
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
