/** What is told of a command that has ended, wherever it is shown. */
export interface CommandResult {
  /** Standard output and standard error together; of a long one a part. */
  output: string;
  /** How it failed: `exit 3`, `SIGTERM`, `timed out`. Absent when it ended with exit code 0. */
  failure?: string;
  /** Milliseconds. */
  durationMs?: number;
}

/**
 * Reads a node's report on a command that has ended (docs/reference/protocol.md, "Tools", Bash and Process). Undefined for any
 * other result, and while the command runs.
 */
export function commandResult(result: unknown): CommandResult | undefined {
  if (!isRecord(result) || typeof result.output !== "string") return undefined;
  const { status, output, durationMs } = result;
  if (status !== "completed" && status !== "failed") return undefined;
  return {
    output,
    ...(status === "failed" ? { failure: failureOf(result) } : {}),
    ...(typeof durationMs === "number" ? { durationMs } : {}),
  };
}

/**
 * The same report without what it holds twice: nodes of an earlier version send the end of `output` as `tail`, too. Any
 * other result is returned unchanged.
 */
export function withoutRepeatedTail(result: unknown): unknown {
  if (!isRecord(result) || commandResult(result) === undefined) return result;
  const { tail, ...rest } = result;
  return typeof tail === "string" && String(rest.output).endsWith(tail) ? rest : result;
}

function failureOf({ timedOut, signal, exitCode }: Record<string, unknown>): string {
  if (timedOut === true) return "timed out";
  if (typeof signal === "string") return signal;
  return typeof exitCode === "number" ? `exit ${exitCode}` : "failed";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
