/** Runs pieces of work that carry the same name one after another, in the order they were asked for.
 * Work under other names runs meanwhile. Holds within one process only. */
export type Locks = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Creates a set of locks. A failed callback does not block the next one. */
export function createLocks(): Locks {
  const tails = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const before = tails.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    tails.set(name, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(name) === mine) tails.delete(name);
    }
  };
}
