/** Waits until the condition holds, looking every few milliseconds; fails with `what` after `deadline` ms. */
export async function until(condition: () => boolean, what: string, deadline = 10_000): Promise<void> {
  const end = Date.now() + deadline;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
