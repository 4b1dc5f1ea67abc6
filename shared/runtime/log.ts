/** Additional fields of a log line. Never message content, never a secret. */
export type LogFields = Record<string, string | number | boolean | undefined> & {
  time?: never;
  event?: never;
  level?: never;
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
 * Redirects the log lines of this process, when its standard output is needed for something else.
 * @returns a function that restores standard output, unless the output was redirected again
 */
export function setLogOutput(next: LogOutput): () => void {
  output = next;
  return () => {
    if (output === next) output = standardOutput;
  };
}

/** Writes one JSON line, named after what happened (`inbox.append`, `run.start`, `tool.dispatch`). */
export function log(event: string, fields: LogFields = {}): void {
  output(JSON.stringify({ time: new Date().toISOString(), event, ...fields }));
}

/** Number of errors that this process has logged. */
export function loggedErrors(): number {
  return errors;
}

/** Logs an unexpected failure with its stack. */
export function logError(event: string, error: unknown, fields: LogFields = {}): void {
  errors += 1;
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  output(JSON.stringify({ time: new Date().toISOString(), event, level: "error", ...fields, error: detail }));
}
