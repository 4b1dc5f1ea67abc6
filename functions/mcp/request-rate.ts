/** Max requests that a program may make at once, and each second after that. */
const burst = 120;
const perSecond = 10;

/** Max programs that are counted; the oldest is forgotten. */
const maxCounted = 1000;

/** Limits the requests of each program, as far as this function's process sees them. */
export interface RequestRate {
  /** Counts a request. @returns seconds after which the next one is accepted; undefined if this one is */
  count(program: string): number | undefined;
}

/** @param now epoch milliseconds */
export function limitRate(now: () => number): RequestRate {
  const programs = new Map<string, { left: number; at: number }>();
  return {
    count(program) {
      const before = programs.get(program) ?? { left: burst, at: now() };
      const left = Math.min(burst, before.left + ((now() - before.at) / 1000) * perSecond);
      programs.delete(program);
      programs.set(program, { left: left < 1 ? left : left - 1, at: now() });
      const [oldest] = programs.keys();
      if (programs.size > maxCounted && oldest !== undefined) programs.delete(oldest);
      return left < 1 ? Math.ceil((1 - left) / perSecond) : undefined;
    },
  };
}
