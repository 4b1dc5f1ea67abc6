import { resolve } from "node:path";
import {
  FunctionError,
  type FunctionHost,
  type FunctionLog,
  type FunctionSettings,
  settingsOf,
  stackFunctions,
} from "../../../../local/lambda/host.ts";
import { FunctionInstance, type FunctionInstanceOptions } from "./function-instance.ts";

export interface ProcessHostOptions {
  /**
   * Environment of the instances, besides their function's access key. They do not inherit this process's
   * environment.
   */
  env: Record<string, string>;
  functions?: Record<string, FunctionSettings>;
  /** Path of a function's bundle; by default `dist/functions/{name}/handler.mjs` of this project. */
  entry?: (name: string) => string;
  /** Node options of the instances, e.g. to run sources. */
  execArgv?: string[];
  /** Most instances of one function at a time; further events wait. Six by default. */
  maxInstances?: number;
  /** Gives processes that are there already, and keeps the idle ones at the close. Without it, all of them end then. */
  spares?: SpareInstances;
  log: FunctionLog;
}

/** A host whose function instances are child processes. */
export interface ProcessHost extends FunctionHost {
  /** Living instances of a function, or of all of them. */
  instances(name?: string): number;
  /** The process ids of a function's living instances. */
  pids(name: string): number[];
  /**
   * Kills the instances of one or all functions with SIGKILL. Their invocations fail. Returns the number of
   * instances.
   */
  kill(name?: string): number;
  /** Makes a function's instances forget all that they keep: idle ones at once, the others behind their event. */
  renew(name: string): void;
}

interface Pool {
  instances: Set<FunctionInstance>;
  idle: FunctionInstance[];
  /** Invocations that wait for an instance, in order of arrival. */
  waiting: Waiter[];
}

interface Waiter {
  take(instance: FunctionInstance): void;
  fail(error: Error): void;
}

/** The fake access key id that identifies a function to the emulators. */
export function accessKeyIdOfFunction(name: string): string {
  return `LOCAL${name}`;
}

/**
 * Runs the deployable bundles. Each instance is a separate process that handles one event at a time.
 * Concurrent events start more instances, and idle instances are reused, as on Lambda.
 */
export function startProcessHost(options: ProcessHostOptions): ProcessHost {
  const { functions = stackFunctions, entry = bundleOf, maxInstances = 6 } = options;
  const pools = new Map<string, Pool>();
  let closed = false;

  function poolOf(name: string): Pool {
    let pool = pools.get(name);
    if (pool === undefined) {
      pool = { instances: new Set(), idle: [], waiting: [] };
      pools.set(name, pool);
    }
    return pool;
  }

  function start(name: string, pool: Pool): FunctionInstance {
    const env = { ...inherited(), ...options.env, AWS_ACCESS_KEY_ID: accessKeyIdOfFunction(name) };
    const { execArgv, log, spares } = options;
    const started: FunctionInstanceOptions = { name, entry: entry(name), env, execArgv, log };
    const instance = spares?.start(started) ?? new FunctionInstance(started);
    pool.instances.add(instance);
    void instance.ended.then(() => {
      pool.instances.delete(instance);
      pool.idle = pool.idle.filter((other) => other !== instance);
      if (!closed) pool.waiting.shift()?.take(start(name, pool));
    });
    return instance;
  }

  async function acquire(name: string): Promise<FunctionInstance> {
    if (closed) throw hostClosed();
    const pool = poolOf(name);
    const idle = pool.idle.pop();
    if (idle !== undefined) return idle;
    if (pool.instances.size < maxInstances) return start(name, pool);
    return new Promise((take, fail) => pool.waiting.push({ take, fail }));
  }

  function release(name: string, instance: FunctionInstance): void {
    const pool = poolOf(name);
    if (!pool.instances.has(instance)) return;
    const next = pool.waiting.shift();
    if (next) next.take(instance);
    else pool.idle.push(instance);
  }

  const living = (name?: string) =>
    [...pools]
      .filter(([key]) => name === undefined || key === name)
      .flatMap(([, pool]) => [...pool.instances]);

  return {
    functions: Object.keys(functions),
    async invoke(name, event, trace) {
      const settings = settingsOf(functions, name);
      const instance = await acquire(name);
      try {
        return await instance.run(event, settings, trace);
      } finally {
        release(name, instance);
      }
    },
    instances: (name) => living(name).length,
    pids: (name) => living(name).flatMap(({ pid }) => pid ?? []),
    kill(name) {
      const instances = living(name);
      for (const instance of instances) instance.kill();
      return instances.length;
    },
    renew(name) {
      for (const instance of living(name)) instance.forget();
    },
    async close() {
      closed = true;
      for (const pool of pools.values()) for (const { fail } of pool.waiting.splice(0)) fail(hostClosed());
      if (options.spares) leave(pools.values(), options.spares);
      const instances = living();
      for (const instance of instances) instance.stop();
      await Promise.all(instances.map((instance) => instance.ended));
    },
  };
}

/** Takes the idle instances out of their pools. */
function leave(pools: Iterable<Pool>, spares: SpareInstances): void {
  for (const { idle, instances } of pools) {
    for (const instance of idle.splice(0)) {
      instances.delete(instance);
      spares.keep(instance);
    }
  }
}

function hostClosed(): FunctionError {
  return new FunctionError("Runtime.ExitError", "the host has been closed");
}

function bundleOf(name: string): string {
  return resolve(import.meta.dirname, "../../../..", "dist", "functions", name, "handler.mjs");
}

/** The variables of this process's environment that a child process needs to start. */
function inherited(): Record<string, string> {
  const names = ["PATH", "HOME", "TMPDIR", "NODE_EXTRA_CA_CERTS"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Processes that outlive their host, for the next one to use. Starting a process takes longer than most events. */
export interface SpareInstances {
  /** A spare process with the same code, or else a new one. */
  start(options: FunctionInstanceOptions): FunctionInstance;
  /** Keeps an instance that runs no event. It does not keep this process running, and ends with it. */
  keep(instance: FunctionInstance): void;
  /** Ends the processes that no host uses. */
  close(): Promise<void>;
}

/** Begins with no process. */
export function openSpareInstances(): SpareInstances {
  const spares = new Set<FunctionInstance>();
  return {
    start(options) {
      for (const spare of spares) {
        if (!spare.runs(options)) continue;
        spares.delete(spare);
        spare.renew(options);
        return spare;
      }
      return new FunctionInstance(options);
    },
    keep(instance) {
      instance.retire();
      spares.add(instance);
      void instance.ended.then(() => spares.delete(instance));
    },
    async close() {
      const idle = [...spares];
      for (const spare of idle) spare.kill();
      await Promise.all(idle.map(({ ended }) => ended));
    },
  };
}
