import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { PassThrough } from "node:stream";
import zlib from "node:zlib";
import { ValidationException } from "../../../local/items/item-validation.ts";
import type { TableCall } from "../../../local/items/table-call.ts";
import { ConditionFailed, type Item, type Table, type TimerEvent } from "../../../shared/world/world.ts";

/** A request of a process, which waits for the answer. */
export type Request =
  | { to: "table"; call: TableCall }
  /** Starts the agent for the session. */
  | { to: "agent" }
  | { to: "scheduler"; name: string; event: TimerEvent }
  /** Sends a tool call to the node. */
  | { to: "node"; callId: string }
  | { to: "model" };

/** An event for a process: the answer to its request at this index, or a tick of its interval. */
export type Happening = { request: number; answer: Answer } | { interval: true };

export type Answer = { value: unknown } | { failure: "condition" | "validation" | "fault" };

/** The dependencies of a program. The check's scheduler decides when each call answers, except those of the clock. */
export interface Surroundings {
  table: Table;
  now(): number;
  ask(request: Request): Promise<unknown>;
  /** Does work that needs no answer of the check, but more than one turn of the event loop, such as reading a stream. */
  whileLocal<T>(work: Promise<T>): Promise<T>;
  /** Reports a visible effect for which the program does not wait. */
  report(news: string): void;
  /** Declares the program's whole knowledge: all processes of this program with the same knowledge behave alike from here. */
  forget(knowledge: unknown): void;
}

/** One function of the system, for one invocation. */
export interface Program {
  name: string;
  run(surroundings: Surroundings): Promise<unknown>;
}

/** The error of an AWS call that failed for good. The caller does not know whether it took effect. */
export class Fault extends Error {
  override name = "Fault";
}

/** A running program that waits: it has done everything that needs no further answer. */
export interface Rest {
  waiting: readonly Request[];
  /** Whether an interval is running. */
  hasInterval: boolean;
  ended?: "returned" | "threw";
  /** Its exception or its unhandled rejection. */
  error?: string;
  /** Reports since it last waited. */
  news: readonly string[];
  /** Whether the clock was read since it last waited. */
  readClock: boolean;
  /** Its knowledge, if it declared it since it last waited. */
  knowledge?: unknown;
}

/** A program in the middle of its work. */
export interface Instance {
  /** Delivers an event and runs the program until it waits again. */
  advance(happening: Happening | "start", clock: number): Promise<Rest>;
}

interface Waiting {
  request: Request;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Replaces the process's own id as the owner of a lease, because the id differs between runs. */
export const ownName = "me";

/**
 * Creates an instance without starting it. Only one instance runs at a time, and only during `advance`, while the
 * changes of `replaceGlobals` are active.
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
  let drawn = 0;
  let localWork = 0;
  /** A process draws the same bytes in every run, so that its calls have the same ids. */
  const draw = (size: number) => Buffer.alloc(size, ++drawn);

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
    async whileLocal(work) {
      localWork++;
      try {
        return await work;
      } finally {
        localWork--;
      }
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
      const { stackTraceLimit } = Error;
      // Only names and messages of errors are read, and programs throw many.
      Error.stackTraceLimit = 0;
      running = { intervals, unhandled, draw };
      try {
        if (happening === "start") begin();
        else tell(happening);
        do await settle();
        while (localWork > 0 && waiting.length === 0);
      } finally {
        running = undefined;
        Error.stackTraceLimit = stackTraceLimit;
      }
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

/** A table whose every call is a request. Ids that differ between runs are replaced by fixed names. */
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

/** Replacements for globals while a program runs. */
interface StandIns {
  /** Its intervals, which do not run. */
  intervals: Map<object, () => void>;
  /** Receives an unhandled rejection, which would end a function's process. */
  unhandled(error: unknown): void;
  draw(size: number): Buffer;
}

/** Those of the program that is running; undefined between programs. */
let running: StandIns | undefined;

/**
 * Until the returned function is called: intervals do not run, random bytes come from the program, streams are not
 * compressed (the slowest part), and nothing is printed. Call it once per exploration: it is slower than a step.
 */
export function replaceGlobals(): () => void {
  const { randomBytes } = crypto;
  const { createGzip } = zlib;
  const { setInterval, clearInterval } = globalThis;
  const { write } = process.stdout;
  const listeners = process.listeners("unhandledRejection");
  const set = (callback: () => void, ms?: number) => {
    if (!running) return setInterval(callback, ms);
    const handle = {};
    running.intervals.set(handle, callback);
    return handle;
  };
  const clear = (handle?: NodeJS.Timeout) => {
    if (!handle || !running?.intervals.delete(handle)) clearInterval(handle);
  };
  const drawn = (size: number) => (running ? running.draw(size) : randomBytes(size));
  const print = (...args: Parameters<typeof write>) => (running ? true : write.apply(process.stdout, args));
  const unhandled = (error: unknown) => {
    if (!running) throw error;
    running.unhandled(error);
  };
  Object.assign(crypto, { randomBytes: drawn });
  const gzip = (options?: zlib.ZlibOptions) => (running ? new PassThrough() : createGzip(options));
  // The property is not writable.
  Object.defineProperty(zlib, "createGzip", { value: gzip });
  syncBuiltinESMExports();
  Object.assign(globalThis, { setInterval: set, clearInterval: clear });
  Object.assign(process.stdout, { write: print });
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", unhandled);
  return () => {
    Object.assign(crypto, { randomBytes });
    Object.defineProperty(zlib, "createGzip", { value: createGzip });
    syncBuiltinESMExports();
    Object.assign(globalThis, { setInterval, clearInterval });
    Object.assign(process.stdout, { write });
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  };
}

/** Resolves when all continuations of already resolved promises have run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
