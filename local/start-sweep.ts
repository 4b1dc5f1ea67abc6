import { leaseMs } from "../shared/session/lease.ts";
import type { Machine } from "./machine.ts";

/**
 * Runs one extra sweep when the leases of an earlier process have expired. That process may have been killed
 * while its functions held sessions, and the next scheduled sweep may be a minute away.
 */
export function sweepAfterLeases({ invocations, onClose }: Machine): void {
  const timer = setTimeout(() => void invocations.invoke("timer", { kind: "sweep" }), leaseMs + 500);
  onClose(async () => clearTimeout(timer));
}
