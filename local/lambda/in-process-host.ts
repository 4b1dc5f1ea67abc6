import { setLogOutput } from "../../shared/runtime/log.ts";
import {
  type ContextFields,
  contextFields,
  FunctionError,
  type FunctionHost,
  type FunctionLog,
  type HostedFunction,
  settingsOf,
  timedOut,
} from "./host.ts";

export interface InProcessHostOptions {
  /** The functions by name. */
  functions: Record<string, HostedFunction>;
  /** Receives the log lines of all functions, as `functions`. */
  log: FunctionLog;
}

/**
 * Runs functions in this process. An invocation fails at its timeout, but its handler cannot be stopped. Log
 * lines of all functions go to the log of the host that was started last.
 */
export function startInProcessHost({ functions, log }: InProcessHostOptions): FunctionHost {
  const restoreLog = setLogOutput((line) => log("functions", line));
  return {
    functions: Object.keys(functions),
    async invoke(name, event) {
      const hosted = settingsOf(functions, name);
      try {
        return await run(name, event, hosted);
      } catch (error) {
        throw asFunctionError(error);
      }
    },
    async close() {
      restoreLog();
    },
  };
}

async function run(name: string, event: unknown, hosted: HostedFunction): Promise<unknown> {
  const fields = contextFields(name, hosted);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut(fields, hosted)), hosted.timeoutMs);
  });
  try {
    return await Promise.race([hosted.handler(event as never, contextOf(fields) as never), late]);
  } finally {
    clearTimeout(timer);
  }
}

function contextOf({ deadline, ...fields }: ContextFields): object {
  return { ...fields, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
}

function asFunctionError(error: unknown): FunctionError {
  if (error instanceof FunctionError) return error;
  if (!(error instanceof Error)) return new FunctionError("Error", String(error));
  const failed = new FunctionError(error.name, error.message, (error.stack ?? "").split("\n"));
  // A log of this error must show where the function failed.
  failed.stack = error.stack;
  return failed;
}
