import type { Interceptor, SeenCall } from "./proxy.ts";

/** One moment of a turn at which a process can die. */
export interface Point {
  /** Names the call by what makes it: function, occasion, which of such invocations, the call, which of such calls. */
  call: string;
  moment: "before" | "after";
}

/** Names the calls of sessions, the same in every run of the same turn as long as nothing is interrupted. */
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

/** Kills processes at points of turns, and writes down which calls turns make. Needs a process for each invocation. */
export interface Executioner {
  interceptor: Interceptor;
  /** Calls that a session's processes have made, in order. */
  callsOf(sessionKey: string): string[];
  /** Aims at a point of a session's turn. */
  aim(sessionKey: string, point: Point): void;
  /** Whether the shot was fired. */
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
