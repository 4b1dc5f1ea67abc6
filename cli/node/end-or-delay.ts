/** Resolves when `end` does, or after `mostMs`, whichever is first. Leaves no timer behind. */
export async function endOrDelay(end: Promise<unknown>, mostMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const delay = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, mostMs);
  });
  await Promise.race([end, delay]);
  clearTimeout(timer);
}
