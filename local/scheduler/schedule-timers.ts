/** The longest delay that a timer takes, in milliseconds. */
const maxDelayMs = 2 ** 31 - 1;

/** Calls back at set times, one for each key. */
export interface ScheduleTimers {
  /** @param dueAt epoch milliseconds, however far; what is past is called at once. Replaces the key's earlier time. */
  set(key: string, dueAt: number): void;
  clear(key: string): void;
  clearAll(): void;
}

export function openScheduleTimers(onDue: (key: string) => void): ScheduleTimers {
  const timers = new Map<string, NodeJS.Timeout>();

  function set(key: string, dueAt: number): void {
    clear(key);
    const delay = Math.max(0, dueAt - Date.now());
    const wait = () => {
      timers.delete(key);
      if (delay > maxDelayMs) set(key, dueAt);
      else onDue(key);
    };
    timers.set(key, setTimeout(wait, Math.min(delay, maxDelayMs)));
  }

  function clear(key: string): void {
    clearTimeout(timers.get(key));
    timers.delete(key);
  }

  return {
    set,
    clear,
    clearAll() {
      for (const key of [...timers.keys()]) clear(key);
    },
  };
}
