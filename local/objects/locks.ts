/** Runs pieces of work that carry the same name one after another, in the order they were asked for.
 * Work under other names runs meanwhile. Holds within one process only. */
export type Locks = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** A fresh set of locks. A piece of work that fails does not keep the next one from running. */
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
