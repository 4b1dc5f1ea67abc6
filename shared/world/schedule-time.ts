/** Time that a request to create a schedule has to arrive, in milliseconds. */
const arrivalMs = 1000;

/**
 * `at(yyyy-mm-ddThh:mm:ss)` in UTC, for EventBridge Scheduler, which refuses a time that is past. Rounded up to the
 * second, because a schedule must not fire early.
 * @param at epoch milliseconds; a time that is past or comes within a second becomes a second from now
 */
export function atExpression(at: number, now: number): string {
  const seconds = Math.ceil(Math.max(at, now + arrivalMs) / 1000);
  return `at(${new Date(seconds * 1000).toISOString().slice(0, 19)})`;
}
