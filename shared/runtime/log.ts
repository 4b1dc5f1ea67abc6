/** Fields of a log line, beside those that every line has. Never content of messages, never a secret. */
export type LogFields = Record<string, string | number | boolean | undefined> & {
  time?: never;
  event?: never;
  level?: never;
};

/** Takes one line without its line break. */
export type LogOutput = (line: string) => void;

/** Lambda keeps what a function writes to standard output. */
const standardOutput: LogOutput = (line) => {
  process.stdout.write(`${line}\n`);
};

let output = standardOutput;

/**
 * Sends the log lines of this process elsewhere, for a process that uses its standard output for something
 * else.
 * @returns the way back to standard output; it does nothing once the lines go elsewhere again
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

/** Logs an unexpected failure with its stack. */
export function logError(event: string, error: unknown, fields: LogFields = {}): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  output(JSON.stringify({ time: new Date().toISOString(), event, level: "error", ...fields, error: detail }));
}
