import {
  FunctionError,
  type FunctionHost,
  type FunctionLog,
  settingsOf,
  stackFunctions,
} from "../../../local/lambda/host.ts";
import { FunctionInstance } from "../../aws/emulators/lambda/function-instance.ts";
import type { Task } from "../load/task.ts";
import { type ClockSettings, clockVariable } from "./clock.mjs";

export interface ChaosHostOptions {
  /** Environment of the processes, in addition to their access keys and clocks. */
  env: Record<string, string>;
  /** Path of a function's bundle. */
  entry(functionName: string): string;
  clock: ClockSettings;
  /** How far the clock of a process is ahead, in milliseconds. */
  skewMs(worker: number): number;
  /** Maximum number of processes of a function; further events wait. */
  maxProcesses(functionName: string): number;
  /** Whether an event gets a new process that ends after it: a cold start. */
  isFresh(task: Task): boolean;
  readTask(functionName: string, event: unknown): Task;
  log: FunctionLog;
}

/** A function's process. */
export interface Worker {
  /** Counts from 0 across all functions. */
  readonly number: number;
  readonly functionName: string;
  /** The event that it handles now, or handled last. */
  task: Task;
  readonly killed: boolean;
  /** Records that it has called AWS, so its start is complete. */
  heard(): void;
  /** Ends the process with SIGKILL. */
  kill(): void;
}

/** Runs the bundles, each instance in a process with its own access key. */
export interface ChaosHost extends FunctionHost {
  /** The process that signs with this key. */
  workerOf(accessKeyId: string): Worker | undefined;
  /** Processes of a function that work for a session now. */
  working(functionName: string, sessionKey: string): Worker[];
  /** Invocations whose process exited without a signal. There should be none. */
  crashes(): string[];
  /** Turns that ran until their function's timeout. There are none on a machine that is fast enough. */
  turnsOutOfTime(): number;
  /** The longest time between a process's start and its first call, in milliseconds of the run's clock. */
  slowestStartMs(): number;
}

interface Pool {
  living: Set<Process>;
  idle: Process[];
  waiting: { task: Task; take(process: Process): void; fail(error: Error): void }[];
}

interface Process extends Worker {
  instance: FunctionInstance;
  busy: boolean;
  killed: boolean;
}

const accessKeyOf = (functionName: string, number: number) => `CHAOS-${functionName}-${number}`;

export function startChaosHost(options: ChaosHostOptions): ChaosHost {
  const pools = new Map<string, Pool>();
  const processes = new Map<string, Process>();
  const crashes: string[] = [];
  let slowestStartMs = 0;
  let turnsOutOfTime = 0;
  let started = 0;
  let closed = false;

  function poolOf(name: string): Pool {
    const pool = pools.get(name) ?? { living: new Set(), idle: [], waiting: [] };
    pools.set(name, pool);
    return pool;
  }

  function start(task: Task, pool: Pool): Process {
    const name = task.functionName;
    const number = started++;
    const accessKeyId = accessKeyOf(name, number);
    const process = startProcess(options, name, number, accessKeyId, task, (ms) => {
      slowestStartMs = Math.max(slowestStartMs, ms);
    });
    processes.set(accessKeyId, process);
    pool.living.add(process);
    void process.instance.ended.then(() => {
      processes.delete(accessKeyId);
      pool.living.delete(process);
      pool.idle = pool.idle.filter((other) => other !== process);
      const next = closed ? undefined : pool.waiting.shift();
      next?.take(start(next.task, pool));
    });
    return process;
  }

  async function acquire(name: string, task: Task): Promise<Process> {
    if (closed) throw hostClosed();
    const pool = poolOf(options.isFresh(task) ? `${name}, fresh` : name);
    const idle = pool.idle.pop();
    if (idle !== undefined) return idle;
    if (pool.living.size < options.maxProcesses(name)) return start(task, pool);
    return new Promise((take, fail) => pool.waiting.push({ task, take, fail }));
  }

  function release(name: string, process: Process): void {
    const pool = poolOf(name);
    process.busy = false;
    if (process.killed) return;
    // A process started for this event alone has its own pool.
    if (!pool.living.has(process)) {
      process.instance.stop();
      return;
    }
    const next = pool.waiting.shift();
    if (next) next.take(process);
    else pool.idle.push(process);
  }

  return {
    functions: Object.keys(stackFunctions),
    async invoke(name, event, trace) {
      const settings = settingsOf(stackFunctions, name);
      const task = options.readTask(name, event);
      const process = await acquire(name, task);
      process.task = task;
      process.busy = true;
      try {
        return await process.instance.run(event, settings, trace);
      } catch (error) {
        if (name === "agent" && isOutOfTime(error)) turnsOutOfTime += 1;
        if (!closed && isCrash(error)) crashes.push(`${name}, in ${task.occasion}: ${error.message}`);
        throw error;
      } finally {
        release(name, process);
      }
    },
    workerOf: (accessKeyId) => processes.get(accessKeyId),
    working: (name, sessionKey) =>
      [...processes.values()].filter(
        ({ busy, functionName, task }) => busy && functionName === name && task.sessionKey === sessionKey,
      ),
    crashes: () => crashes,
    slowestStartMs: () => slowestStartMs,
    turnsOutOfTime: () => turnsOutOfTime,
    async close() {
      closed = true;
      for (const { waiting } of pools.values()) for (const { fail } of waiting.splice(0)) fail(hostClosed());
      const left = [...processes.values()];
      for (const { instance } of left) instance.stop();
      await Promise.all(left.map(({ instance }) => instance.ended));
    },
  };
}

const preload = new URL("./clock.mjs", import.meta.url).href;

function startProcess(
  options: ChaosHostOptions,
  functionName: string,
  number: number,
  accessKeyId: string,
  task: Task,
  onStarted: (ms: number) => void,
): Process {
  const startedAt = Date.now();
  let isHeard = false;
  const clock = { ...options.clock, skewMs: options.skewMs(number) };
  const env = {
    PATH: String(process.env.PATH),
    ...options.env,
    AWS_ACCESS_KEY_ID: accessKeyId,
    [clockVariable]: JSON.stringify(clock),
  };
  const { log } = options;
  const entry = options.entry(functionName);
  const instance = new FunctionInstance({
    name: functionName,
    entry,
    env,
    execArgv: ["--import", preload],
    log,
  });
  const made: Process = {
    number,
    functionName,
    task,
    killed: false,
    busy: true,
    instance,
    heard() {
      if (!isHeard) onStarted(Date.now() - startedAt);
      isHeard = true;
    },
    kill() {
      made.killed = true;
      instance.kill();
    },
  };
  return made;
}

/** Whether the process exited, for example because of an unhandled error, and not by a signal. */
function isCrash(error: unknown): error is FunctionError {
  if (!(error instanceof FunctionError)) return false;
  return error.errorType === "Runtime.ExitError" && /exit status/.test(error.message);
}

/** Whether the function's own wrapper, which acts some milliseconds earlier, or Lambda reported the timeout. */
function isOutOfTime(error: unknown): boolean {
  if (!(error instanceof FunctionError)) return false;
  return error.errorType === "Sandbox.Timedout" || /operation was aborted/.test(error.message);
}

function hostClosed(): FunctionError {
  return new FunctionError("Runtime.ExitError", "the host has been closed");
}
