import type { Interceptor, SeenCall } from "./proxy.ts";

/** A moment of a turn at which a process can die. */
export interface Point {
  /** Identifies the call by its origin: function, occasion, index of the invocation, call, index of the call. */
  call: string;
  moment: "before" | "after";
}

/** Names the calls of a session. Uninterrupted runs of the same turn get the same names. */
interface Namer {
  name(call: SeenCall): string;
}

function openNamer(): Namer {
  const invocations = new Map<string, number[]>();
  const calls = new Map<string, number>();
  return {
    name({ worker, sessionKey, label }) {
      const { functionName, task, number } = worker;
      const occasion = `${functionName} ${task.occasion}`;
      const workers = invocations.get(`${sessionKey} ${occasion}`) ?? [];
      if (!workers.includes(number)) workers.push(number);
      invocations.set(`${sessionKey} ${occasion}`, workers);
      const key = `${number} ${label}`;
      const nth = calls.get(key) ?? 0;
      calls.set(key, nth + 1);
      return `${occasion} ${workers.indexOf(number)}: ${label} ${nth}`;
    },
  };
}

/** Kills processes at points of turns, and records the calls of turns. Each invocation needs its own process. */
export interface Executioner {
  interceptor: Interceptor;
  /** Calls of a session's processes, in order. */
  callsOf(sessionKey: string): string[];
  /** Sets the point at which to kill a process of a session's turn. */
  aim(sessionKey: string, point: Point): void;
  /** Whether the kill happened. */
  hasHit(sessionKey: string): boolean;
  kills(): number;
}

export function openExecutioner(): Executioner {
  const namer = openNamer();
  const made = new Map<string, string[]>();
  const aims = new Map<string, Point>();
  const hits = new Set<string>();
  const names = new WeakMap<SeenCall, string>();
  const strike = (call: SeenCall, moment: Point["moment"]): boolean => {
    const { sessionKey, worker } = call;
    const aim = aims.get(sessionKey);
    if (aim?.moment !== moment || aim.call !== names.get(call) || hits.has(sessionKey)) return false;
    hits.add(sessionKey);
    worker.kill();
    return true;
  };
  return {
    interceptor: {
      async before(call) {
        if (call.sessionKey === "" || call.attempt > 1) return "pass";
        const name = namer.name(call);
        names.set(call, name);
        made.set(call.sessionKey, [...(made.get(call.sessionKey) ?? []), name]);
        return strike(call, "before") ? "drop" : "pass";
      },
      after: async (call) => (strike(call, "after") ? "drop" : "deliver"),
    },
    callsOf: (sessionKey) => made.get(sessionKey) ?? [],
    aim: (sessionKey, point) => aims.set(sessionKey, point),
    hasHit: (sessionKey) => hits.has(sessionKey),
    kills: () => hits.size,
  };
}
