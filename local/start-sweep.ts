import { leaseMs } from "../shared/session/lease.ts";
import type { Machine } from "./machine.ts";

/**
 * Runs one more sweep as soon as the leases of an earlier process have run out. That process may have been killed while
 * its functions held sessions, and the sweep of the schedule may be another minute away.
 */
export function sweepAfterLeases({ invocations, onClose }: Machine): void {
  const timer = setTimeout(() => void invocations.invoke("timer", { kind: "sweep" }), leaseMs + 500);
  onClose(async () => clearTimeout(timer));
}
