import middy, { type Request } from "@middy/core";
import type { Context } from "aws-lambda";
import { type LogFields, log, logError } from "./log.ts";

interface Options<Event, Result> {
  /** Fields of the log lines that open and close an invocation. */
  fields(event: Event): LogFields;
  /**
   * What to answer when the handler throws; without it Lambda gets the error, and repeats asynchronous
   * events.
   */
  onError?(error: unknown, event: Event): Result;
}

/**
 * Wraps a function's handler: one log line in, one out with its duration, errors logged in full and mapped.
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
  const { onError } = options;
  const wrapped = middy<Event, Result>()
    .use({
      before(request: Invocation) {
        startedAt.set(request.context, Date.now());
        log(`${name}.in`, fields(request));
      },
      after(request: Invocation) {
        const ms = Date.now() - (startedAt.get(request.context) ?? Date.now());
        log(`${name}.out`, { ...fields(request), ms });
      },
      onError(request: Invocation) {
        logError(`${name}.failed`, request.error, fields(request));
        if (onError) request.response = onError(request.error, request.event);
      },
    })
    .handler((event: Event, context: Context) => handle(event, context));
  const promised: (event: Event, context: Context) => Promise<Result> = wrapped;
  return (event, context) => promised(event, context);
}
