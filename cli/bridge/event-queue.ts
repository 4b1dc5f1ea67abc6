/** Runs tasks one after the other. @returns the task's result; it rejects with the task's error, or when a task before has failed */
export type EventQueue = <T>(task: () => Promise<T>) => Promise<T>;

/** After a task has failed, no further one runs: what it handled must come first again after the next start. */
export function createQueue(): EventQueue {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next;
    return next;
  };
}
