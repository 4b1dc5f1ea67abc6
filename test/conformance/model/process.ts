import { ValidationException } from "../../../local/items/item-validation.ts";
import type { TableCall } from "../../../local/items/table-call.ts";
import { ConditionFailed, type Item, type Table, type TimerEvent } from "../../../shared/world/world.ts";

/** What a process asks of its surroundings, and waits for. */
export type Request =
  | { to: "table"; call: TableCall }
  /** Starts the agent for the session. */
  | { to: "agent" }
  | { to: "scheduler"; name: string; event: TimerEvent }
  /** Sends a tool call to the node. */
  | { to: "node"; callId: string }
  | { to: "model" };

/** What a process is told: the answer to the request it waits for at this place, or that its interval is over. */
export type Happening = { request: number; answer: Answer } | { interval: true };

export type Answer = { value: unknown } | { failure: "condition" | "validation" | "fault" };

/** What a program can reach. All of it but the clock answers when the scheduler of the check says so. */
export interface Surroundings {
  table: Table;
  now(): number;
  ask(request: Request): Promise<unknown>;
  /** Notes something that others see, but nobody waits for. */
  report(news: string): void;
  /** Says what all of its knowledge is: from here on it does what every process of its program does that knows this. */
  forget(knowledge: unknown): void;
}

/** One function of the system, as it is started once. */
export interface Program {
  name: string;
  run(surroundings: Surroundings): Promise<unknown>;
}

/** The error of an AWS call that failed for good: whether it took effect is not known to the caller. */
export class Fault extends Error {
  override name = "Fault";
}

/** A running program, seen when it has come to rest: everything it can do without an answer is done. */
export interface Rest {
  waiting: readonly Request[];
  /** Whether an interval is running. */
  hasInterval: boolean;
  ended?: "returned" | "threw";
  /** What it threw, or what it left unhandled. */
  error?: string;
  /** What was reported since it was last at rest. */
  news: readonly string[];
  /** Whether the clock was read since it was last at rest. */
  readClock: boolean;
  /** All that it knows, if it has said so since it was last at rest. */
  knowledge?: unknown;
}

/** A program in the middle of its work. */
export interface Instance {
  /** Lets something happen to it; it is at rest again afterwards. */
  advance(happening: Happening | "start", clock: number): Promise<Rest>;
}

interface Waiting {
  request: Request;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** How a process is told that it is itself the owner of a lease: its own id differs from run to run. */
export const ownName = "me";

/**
 * Starts nothing yet. One instance runs at a time, and only during `advance`: intervals that it sets and lines that it
 * logs are caught by standing in for the globals meanwhile.
 */
export function createInstance(program: Program): Instance {
  const waiting: Waiting[] = [];
  const intervals = new Map<object, () => void>();
  const rest: { ended?: "returned" | "threw"; error?: string } = {};
  let news: string[] = [];
  let readClock = false;
  let clock = 0;
  let ownId: string | undefined;
  let knowledge: unknown;

  const ask = (request: Request) =>
    new Promise<unknown>((resolve, reject) => waiting.push({ request, resolve, reject }));
  const table = askingTable(
    ask,
    (item) => {
      if (typeof item.owner !== "string") return item;
      if (item.owner === ownName) return { ...item, owner: ownId ?? ownName };
      return item;
    },
    (id) => {
      ownId = id;
    },
  );
  const surroundings: Surroundings = {
    table,
    ask,
    now: () => {
      readClock = true;
      return clock;
    },
    report: (item) => void news.push(item),
    forget: (all) => {
      knowledge = all;
    },
  };
  const begin = () => {
    program.run(surroundings).then(
      () => {
        rest.ended = "returned";
      },
      (error: unknown) => {
        rest.ended = "threw";
        rest.error = nameOf(error);
      },
    );
  };
  const tell = (happening: Happening) => {
    if ("interval" in happening) {
      for (const callback of intervals.values()) callback();
      return;
    }
    const [asked] = waiting.splice(happening.request, 1);
    if (!asked) throw new Error(`${program.name} does not wait for an answer ${happening.request}`);
    const { answer } = happening;
    if ("value" in answer) asked.resolve(answer.value);
    else asked.reject(errorOf(answer.failure));
  };
  return {
    async advance(happening, at) {
      clock = at;
      news = [];
      readClock = false;
      knowledge = undefined;
      const unhandled = (error: unknown) => {
        rest.ended = "threw";
        rest.error = `unhandled ${nameOf(error)}`;
        waiting.length = 0;
        intervals.clear();
      };
      await withGlobals(intervals, unhandled, async () => {
        if (happening === "start") begin();
        else tell(happening);
        await settle();
      });
      const requests = waiting.map(({ request }) => request);
      return { waiting: requests, hasInterval: intervals.size > 0, ...rest, news, readClock, knowledge };
    },
  };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

function errorOf(failure: "condition" | "validation" | "fault"): Error {
  if (failure === "condition") return new ConditionFailed();
  return failure === "validation" ? new ValidationException("refused") : new Fault("the call failed");
}

/** A table whose every call is a request. Ids that differ from run to run become names that do not. */
function askingTable(
  ask: (request: Request) => Promise<unknown>,
  reveal: (item: Item) => Item,
  learnId: (id: string) => void,
): Table {
  const call = (request: TableCall) => ask({ to: "table", call: request });
  const one = async (request: TableCall) => {
    const item = (await call(request)) as Item | undefined;
    return item && reveal(item);
  };
  return {
    get: (key) => one({ op: "get", key }),
    put: async (item, condition) => {
      await call({ op: "put", item, condition });
    },
    update: async (key, steps, condition) => {
      const named = steps.map((step) => {
        if (step.op !== "set" || step.path !== "owner") return step;
        learnId(String(step.value));
        return { ...step, value: ownName };
      });
      return (await one({ op: "update", key, steps: named, condition })) as Item;
    },
    delete: (key, condition) => one({ op: "delete", key, condition }),
    query: (query) => call({ op: "query", query }) as Promise<Item[]>,
    queryIndex: (query) => call({ op: "queryIndex", query }) as Promise<Item[]>,
  };
}

/**
 * Intervals are kept in `intervals` instead of running, nothing is printed, and a rejection that nobody handles, which
 * would end a function's process, is told to `unhandled`.
 */
async function withGlobals(
  intervals: Map<object, () => void>,
  unhandled: (error: unknown) => void,
  work: () => Promise<void>,
): Promise<void> {
  const { setInterval, clearInterval } = globalThis;
  const write = process.stdout.write;
  const listeners = process.listeners("unhandledRejection");
  const set = (callback: () => void) => {
    const handle = {};
    intervals.set(handle, callback);
    return handle;
  };
  const clear = (handle: object | undefined) => {
    if (handle) intervals.delete(handle);
  };
  Object.assign(globalThis, { setInterval: set, clearInterval: clear });
  process.stdout.write = () => true;
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", unhandled);
  try {
    await work();
  } finally {
    Object.assign(globalThis, { setInterval, clearInterval });
    process.stdout.write = write;
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  }
}

/** Resolves when everything that follows from what is resolved already has run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
