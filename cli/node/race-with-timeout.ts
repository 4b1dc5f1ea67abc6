/** Resolves when `end` resolves or after `maxMs`, whichever comes first. */
export async function raceWithTimeout(end: Promise<unknown>, maxMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const delay = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, maxMs);
  });
  await Promise.race([end, delay]);
  clearTimeout(timer);
}
