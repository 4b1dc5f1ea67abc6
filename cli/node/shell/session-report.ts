import { tailOf } from "../text-ends.ts";
import type { ShellSession } from "./shell.ts";

/** Characters of a `tail`. */
export const tailChars = 4000;

/** What is told about a command that is running. Times are epoch ms. */
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

/** How a command ended, without its output. Times are epoch ms, absent while it runs. */
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

/** What is told about a command that is over. */
export function endedReport(session: ShellSession): Record<string, unknown> {
  return {
    status: session.status,
    sessionId: session.sessionId,
    startedAt: session.startedAt,
    ...endFacts(session),
    output: session.output.text,
    tail: tailOf(session.output.text, tailChars),
    truncated: session.output.truncated,
    workdir: session.workdir,
  };
}
