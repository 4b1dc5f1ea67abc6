/**
 * Polls every few milliseconds until `look` returns a truthy value, and returns it.
 * @throws Error with `what` after `deadlineMs`
 */
export async function until<T>(
  look: () => T | Promise<T>,
  what = "the condition holds",
  deadlineMs = 60_000,
): Promise<Exclude<T, undefined | false>> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen as Exclude<T, undefined | false>;
    if (Date.now() > end) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
