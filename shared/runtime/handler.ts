import middy, { type Request } from "@middy/core";
import type { Context } from "aws-lambda";
import { type LogFields, log, logError } from "./log.ts";

/** Watches the invocations of one warm function. */
export interface InvocationWatch {
  /** Called after each invocation. Usually it sends no request. */
  ended(): Promise<void>;
}

interface Options<Event, Result> {
  /** Fields of the log lines at the start and end of an invocation. */
  fields(event: Event): LogFields;
  /**
   * The result when the handler throws. Without it the error reaches Lambda, which retries asynchronous
   * events.
   */
  onError?(error: unknown, event: Event): Result;
  /** Notified of the end of each invocation. */
  watch?: InvocationWatch;
}

/**
 * Wraps a function's handler: logs one line at the start and one with the duration at the end; logs errors in
 * full and maps them with `onError`. Notifies the watch of each end.
 */
export function wrapHandler<Event, Result>(
  name: string,
  handle: (event: Event, context: Context) => Promise<Result>,
  options: Options<Event, Result>,
): (event: Event, context: Context) => Promise<Result> {
  type Invocation = Request<Event, Result>;
  const startedAt = new WeakMap<Context, number>();
  const fields = ({ event, context }: Invocation) => ({
    requestId: context.awsRequestId,
    ...options.fields(event),
  });
  const { onError, watch } = options;
  const wrapped = middy<Event, Result>()
    .use({
      before(request: Invocation) {
        startedAt.set(request.context, Date.now());
        log(`${name}.in`, fields(request));
      },
      async after(request: Invocation) {
        const ms = Date.now() - (startedAt.get(request.context) ?? Date.now());
        log(`${name}.out`, { ...fields(request), ms });
        await watch?.ended();
      },
      async onError(request: Invocation) {
        logError(`${name}.failed`, request.error, fields(request));
        await watch?.ended();
        if (onError) request.response = onError(request.error, request.event);
      },
    })
    .handler((event: Event, context: Context) => handle(event, context));
  const promised: (event: Event, context: Context) => Promise<Result> = wrapped;
  return (event, context) => promised(event, context);
}
