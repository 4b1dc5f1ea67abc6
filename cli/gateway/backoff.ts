/** The wait before attempt `failures` + 1: exponential with full jitter, so that many peers do not return at once. */
export function backoffDelay(failures: number, minMs: number, maxMs: number, random = Math.random): number {
  return Math.round(random() * Math.min(maxMs, minMs * 2 ** Math.min(failures, 30)));
}
