/** Fields of a log line, beside those that every line has. Never content of messages, never a secret. */
export type LogFields = Record<string, string | number | boolean | undefined> & {
  time?: never;
  event?: never;
  level?: never;
};

/** Writes one JSON line, named after what happened (`inbox.append`, `run.start`, `tool.dispatch`). */
export function log(event: string, fields: LogFields = {}): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), event, ...fields })}\n`);
}

/** Logs an unexpected failure with its stack. */
export function logError(event: string, error: unknown, fields: LogFields = {}): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stdout.write(
    `${JSON.stringify({ time: new Date().toISOString(), event, level: "error", ...fields, error: detail })}\n`,
  );
}
