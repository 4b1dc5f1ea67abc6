import { AsyncLocalStorage } from "node:async_hooks";
import { captureOutput } from "./captured-output.ts";
import { functionSources } from "./function-sources.ts";
import {
  type ContextFields,
  contextFields,
  FunctionError,
  type FunctionHost,
  type FunctionLog,
  type FunctionSettings,
  settingsOf,
  stackFunctions,
  timedOut,
} from "./host.ts";

type Handler = (event: unknown, context: object) => unknown;

export interface InProcessHostOptions {
  /** Set in this process before the first handler is loaded, because handlers read it once. */
  env: Record<string, string>;
  /** The functions by name; those of the stack by default. */
  functions?: Record<string, FunctionSettings>;
  /** Loads a function's module; by default that of this project. */
  load?: (name: string) => Promise<unknown>;
  /** Where the handlers' output goes; never to this process's standard output. */
  log: FunctionLog;
}

/** The environment that the handlers of this process were loaded with. */
let loadedEnv: Record<string, string> | undefined;

/**
 * Runs the handlers' sources in this process: fast, and one set of them per process, since a module is loaded once.
 * A handler that runs out of time fails its invocation but cannot be stopped.
 * @throws Error when this process has run handlers with another environment before
 */
export function startInProcessHost(options: InProcessHostOptions): FunctionHost {
  const { env, functions = stackFunctions, load = loadSource, log } = options;
  adoptEnvironment(env);
  const running = new AsyncLocalStorage<string>();
  const release = captureOutput(() => running.getStore(), log);

  async function run(name: string, event: unknown, settings: FunctionSettings): Promise<unknown> {
    const handler = await handlerOf(name, load);
    const fields = contextFields(name, settings);
    const result = await withTimeout(handler(copy(event), contextOf(fields)), fields, settings);
    return copy(result);
  }

  return {
    functions: Object.keys(functions),
    async invoke(name, event) {
      const settings = settingsOf(functions, name);
      try {
        return await running.run(name, () => run(name, event, settings));
      } catch (error) {
        throw asFunctionError(error);
      }
    },
    async close() {
      release();
    },
  };
}

function adoptEnvironment(env: Record<string, string>): void {
  const changed = Object.keys(env).find((name) => loadedEnv && loadedEnv[name] !== env[name]);
  if (changed !== undefined) {
    throw new Error(
      `this process has loaded the functions with another ${changed}: run this one in its own process`,
    );
  }
  loadedEnv = env;
  Object.assign(process.env, env);
}

async function loadSource(name: string): Promise<unknown> {
  return functionSources[name]?.();
}

async function handlerOf(name: string, load: (name: string) => Promise<unknown>): Promise<Handler> {
  const { handler } = ((await load(name)) ?? {}) as { handler?: unknown };
  if (typeof handler === "function") return handler as Handler;
  throw new FunctionError("Runtime.HandlerNotFound", "handler is undefined or not exported");
}

function contextOf({ deadline, ...fields }: ContextFields): object {
  return { ...fields, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
}

function withTimeout(result: unknown, fields: ContextFields, settings: FunctionSettings): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timedOut(fields, settings)), settings.timeoutMs);
    Promise.resolve(result)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** What arrives is what JSON carries, so no object is shared between a function and its caller. */
function copy(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value) ?? "null");
}

function asFunctionError(error: unknown): FunctionError {
  if (error instanceof FunctionError) return error;
  if (!(error instanceof Error)) return new FunctionError("Error", String(error));
  return new FunctionError(error.name, error.message, (error.stack ?? "").split("\n"));
}
