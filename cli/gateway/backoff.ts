/**
 * Delay in ms after `failures` failed attempts: exponential, with full jitter so that peers do not all reconnect
 * at once.
 */
export function backoffDelay(failures: number, minMs: number, maxMs: number, random = Math.random): number {
  return Math.round(random() * Math.min(maxMs, minMs * 2 ** Math.min(failures, 30)));
}
