import { AsyncLocalStorage } from "node:async_hooks";
import { LogFormatter, Logger, LogItem } from "@aws-lambda-powertools/logger";
import type { LogAttributes, UnformattedAttributes } from "@aws-lambda-powertools/logger/types";

/** Additional fields of a log line. Never message content, never a secret. The logger writes those that are `never`. */
export type LogFields = Record<string, string | number | boolean | undefined> & {
  time?: never;
  event?: never;
  level?: never;
  requestId?: never;
  coldStart?: never;
  correlationId?: never;
  message?: never;
  service?: never;
  timestamp?: never;
  sampling_rate?: never;
};

/** Receives one line without its line break. */
export type LogOutput = (line: string) => void;

/** Lambda stores the standard output in CloudWatch Logs. */
const standardOutput: LogOutput = (line) => {
  process.stdout.write(`${line}\n`);
};

let output = standardOutput;
let errors = 0;

/**
 * A line begins with `time` and `event`. Every line of an invocation has `requestId` and `coldStart`, and the run's id as
 * `correlationId` once it is known. Lines are short, because an idle gateway pays for its sweep's lines.
 */
class LineFormatter extends LogFormatter {
  formatAttributes(
    { timestamp, message, logLevel, lambdaContext }: UnformattedAttributes,
    { correlation_id: correlationId, ...fields }: LogAttributes,
  ): LogItem {
    const attributes = {
      time: timestamp.toISOString(),
      event: message,
      level: logLevel === "INFO" ? undefined : logLevel.toLowerCase(),
      ...fields,
      requestId: lambdaContext?.awsRequestId,
      coldStart: lambdaContext?.coldStart,
      correlationId,
    };
    return new LogItem({ attributes });
  }
}

/** Writes every level to one output, so that lines stay in order. */
class LineLogger extends Logger {
  protected override printLog(_level: number, item: LogItem): void {
    output(JSON.stringify(item.getAttributes()));
  }
}

/** `POWERTOOLS_LOG_LEVEL` sets the level (default INFO). */
const openLogger = (): Logger => new LineLogger({ logFormatter: new LineFormatter() });

const first = openLogger();
const idle = [first];
const current = new AsyncLocalStorage<Logger>();

/**
 * Runs an invocation with a logger of its own. Lambda runs one invocation at a time and so uses one logger; in a process that
 * runs several at once, each keeps its request and its run.
 */
export async function withLogger<T>(invocation: (logger: Logger) => Promise<T>): Promise<T> {
  const logger = idle.pop() ?? openLogger();
  try {
    return await current.run(logger, () => invocation(logger));
  } finally {
    idle.push(logger);
  }
}

/** The logger of the running invocation. */
const logger = (): Logger => current.getStore() ?? first;

/**
 * Redirects the log lines of this process, when its standard output is needed for something else.
 * @returns a function that restores standard output, unless the output was redirected again
 */
export function setLogOutput(next: LogOutput): () => void {
  output = next;
  return () => {
    if (output === next) output = standardOutput;
  };
}

/** Sets the run that the following lines of this invocation belong to. Outside of an invocation it does nothing. */
export function correlate(runId: string): void {
  current.getStore()?.setCorrelationId(runId);
}

/** Writes one JSON line, named after what happened (`inbox.append`, `run.start`, `tool.dispatch`). */
export function log(event: string, fields: LogFields = {}): void {
  logger().info(event, fields);
}

/** Number of errors that this process has logged. */
export function loggedErrors(): number {
  return errors;
}

/** Logs an unexpected failure with its stack. The error's other fields are left out: they may have content. */
export function logError(event: string, error: unknown, fields: LogFields = {}): void {
  errors += 1;
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  logger().error(event, { ...fields, error: detail });
}
