import { randomUUID } from "node:crypto";
import { arn } from "../http/aws-account.ts";

/** Runs the handlers as Lambda would. */
export interface FunctionHost {
  /** Names of the hosted functions. */
  readonly functions: readonly string[];
  /**
   * Runs a handler with a JSON event and returns its result as JSON would carry it.
   * @param trace the trace header that the function's calls of AWS carry, see `countInLineage`; a function that runs
   *   in this process ignores it
   * @throws FunctionError when the handler throws, runs out of time, or its process dies
   * @throws UnknownFunctionError
   * @throws ThrottledError when the account runs as many functions as it may
   */
  invoke(name: string, event: unknown, trace?: string): Promise<unknown>;
  /** Stops running invocations. */
  close(): Promise<void>;
}

export interface FunctionSettings {
  timeoutMs: number;
  memoryMb: number;
  /** Whether Lambda lets the function be in one chain of invocations as often as it likes. */
  invokesItself?: boolean;
}

/** The functions of the stack. */
export type FunctionName = "socket" | "webhook" | "timer" | "agent" | "openai" | "mcp" | "page";

/** A function that runs in this process. */
export interface HostedFunction extends FunctionSettings {
  handler: (event: never, context: never) => unknown;
}

/** The functions of the stack, with the timeouts they are deployed with. */
export const stackFunctions: Record<FunctionName, FunctionSettings> = {
  socket: { timeoutMs: 29_000, memoryMb: 256 },
  webhook: { timeoutMs: 29_000, memoryMb: 512 },
  timer: { timeoutMs: 60_000, memoryMb: 256 },
  agent: { timeoutMs: 900_000, memoryMb: 512, invokesItself: true },
  openai: { timeoutMs: 900_000, memoryMb: 256 },
  mcp: { timeoutMs: 29_000, memoryMb: 512 },
  page: { timeoutMs: 10_000, memoryMb: 256 },
};

/** Receives what a function writes to its standard output and error, line by line. */
export type FunctionLog = (functionName: string, line: string) => void;

/** A failed invocation, as Lambda reports it to the caller of Invoke. */
export class FunctionError extends Error {
  /** Name of the error that the handler threw, or of Lambda's runtime, e.g. `Runtime.ExitError`. */
  readonly errorType: string;
  readonly trace: readonly string[];

  constructor(errorType: string, message: string, trace: readonly string[] = []) {
    super(message);
    this.errorType = errorType;
    this.trace = trace;
  }
}

class UnknownFunctionError extends Error {}

/** The function was not started: the account runs as many as it may. */
export class ThrottledError extends Error {
  constructor() {
    super("Rate Exceeded.");
  }
}

/** The part of the context object that is data; the runtime adds getRemainingTimeInMillis. */
export interface ContextFields {
  awsRequestId: string;
  functionName: string;
  functionVersion: string;
  invokedFunctionArn: string;
  memoryLimitInMB: string;
  logGroupName: string;
  logStreamName: string;
  callbackWaitsForEmptyEventLoop: boolean;
  /** When the function's time is up, in epoch milliseconds. */
  deadline: number;
}

export function contextFields(
  functionName: string,
  { timeoutMs, memoryMb }: FunctionSettings,
): ContextFields {
  return {
    awsRequestId: randomUUID(),
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: functionArn(functionName),
    memoryLimitInMB: String(memoryMb),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    callbackWaitsForEmptyEventLoop: true,
    deadline: Date.now() + timeoutMs,
  };
}

/** `arn:aws:lambda:us-east-1:000000000000:function:{name}` */
export function functionArn(name: string): string {
  return arn("lambda", `function:${name}`);
}

/** A function's name from its name, partial ARN or ARN, with or without a qualifier, as Lambda accepts them. */
export function functionNameOf(reference: string): string {
  const parts = reference.split(":");
  const marker = parts.indexOf("function");
  return parts[marker + 1] ?? reference;
}

/** @throws UnknownFunctionError */
export function settingsOf<F extends FunctionSettings>(functions: Record<string, F>, name: string): F {
  const settings = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (settings === undefined) throw new UnknownFunctionError(`Function not found: ${functionArn(name)}`);
  return settings;
}

/** Lambda's error for a function that exceeds its timeout. */
export function timedOut({ awsRequestId }: ContextFields, { timeoutMs }: FunctionSettings): FunctionError {
  const seconds = (timeoutMs / 1000).toFixed(2);
  return new FunctionError(
    "Sandbox.Timedout",
    `RequestId: ${awsRequestId} Error: Task timed out after ${seconds} seconds`,
  );
}
