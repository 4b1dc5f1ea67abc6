import { tailOf } from "../truncate.ts";
import type { ShellSession } from "./shell.ts";

/** Max length of the `tail` in the report on a running command, in characters. */
export const tailChars = 4000;

/** The report on a running command. Times are epoch ms. */
export function runningReport(session: ShellSession): Record<string, unknown> {
  return {
    status: session.status,
    sessionId: session.sessionId,
    pid: session.pid,
    startedAt: session.startedAt,
    tail: tailOf(session.output.text, tailChars),
    workdir: session.workdir,
  };
}

/** Status, exit code and times of a command, without its output. Times are epoch ms; absent while it runs. */
export function endFacts(session: ShellSession): Record<string, unknown> {
  const { endedAt, startedAt } = session;
  if (endedAt === undefined) return {};
  return {
    exitCode: session.exitCode,
    signal: session.signal,
    timedOut: session.timedOut,
    endedAt,
    durationMs: endedAt - startedAt,
  };
}

/** The report on a command that has ended. */
export function endedReport(session: ShellSession): Record<string, unknown> {
  return {
    status: session.status,
    sessionId: session.sessionId,
    startedAt: session.startedAt,
    ...endFacts(session),
    output: session.output.text,
    truncated: session.output.truncated,
    workdir: session.workdir,
  };
}
