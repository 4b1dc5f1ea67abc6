/** Resolves when `end` resolves, or after `mostMs`, whichever is first. Clears its timer. */
export async function endOrDelay(end: Promise<unknown>, mostMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const delay = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, mostMs);
  });
  await Promise.race([end, delay]);
  clearTimeout(timer);
}
