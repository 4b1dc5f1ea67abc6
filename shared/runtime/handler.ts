import { injectLambdaContext } from "@aws-lambda-powertools/logger/middleware";
import middy, { type Request } from "@middy/core";
import type { Context } from "aws-lambda";
import { correlate, type LogFields, log, logError, withLogger } from "./log.ts";

/** Watches the invocations of one warm function. */
export interface InvocationWatch {
  /** Called after each invocation. Usually it sends no request. */
  ended(): Promise<void>;
}

interface Options<Event, Result> {
  /** Fields of the log lines at the start and end of an invocation. */
  fields(event: Event): LogFields;
  /** The run that the event is about, if it says so. Code that learns it later calls `correlate`. */
  run?(event: Event): string | undefined;
  /**
   * The result when the handler throws. Without it the error reaches Lambda, which retries asynchronous
   * events.
   */
  onError?(error: unknown, event: Event): Result;
  /** Notified of the end of each invocation. */
  watch?: InvocationWatch;
}

/**
 * Wraps a function's handler: puts the invocation's fields on every log line; logs one line at the start and one with the
 * duration at the end; logs errors in full and maps them with `onError`. Notifies the watch of each end.
 */
export function wrapHandler<Event, Result>(
  name: string,
  handle: (event: Event, context: Context) => Promise<Result>,
  options: Options<Event, Result>,
): (event: Event, context: Context) => Promise<Result> {
  type Invocation = Request<Event, Result>;
  const startedAt = new WeakMap<Context, number>();
  const { fields, run, onError, watch } = options;
  const lines = {
    before({ event, context }: Invocation) {
      startedAt.set(context, Date.now());
      const runId = run?.(event);
      if (runId !== undefined) correlate(runId);
      log(`${name}.in`, fields(event));
    },
    async after({ event, context }: Invocation) {
      const ms = Date.now() - (startedAt.get(context) ?? Date.now());
      log(`${name}.out`, { ...fields(event), ms });
      await watch?.ended();
    },
    async onError(request: Invocation) {
      logError(`${name}.failed`, request.error, fields(request.event));
      await watch?.ended();
      if (onError) request.response = onError(request.error, request.event);
    },
  };
  return (event, context) =>
    withLogger((logger) => {
      const wrapped: (event: Event, context: Context) => Promise<Result> = middy<Event, Result>()
        .use(injectLambdaContext(logger, { resetKeys: true }))
        .use(lines)
        .handler((event: Event, context: Context) => handle(event, context));
      return wrapped(event, context);
    });
}
