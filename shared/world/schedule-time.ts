/** Time reserved for the request that creates a schedule, in milliseconds. */
const arrivalMs = 1000;

/**
 * `at(yyyy-mm-ddThh:mm:ss)` in UTC, for EventBridge Scheduler, which rejects past times. Rounded up to the
 * second, because a schedule must not fire early.
 * @param at epoch milliseconds; a past time, or one within a second, becomes a second from now
 */
export function atExpression(at: number, now: number): string {
  const seconds = Math.ceil(Math.max(at, now + arrivalMs) / 1000);
  return `at(${new Date(seconds * 1000).toISOString().slice(0, 19)})`;
}
