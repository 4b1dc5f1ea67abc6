import { randomUUID } from "node:crypto";
import type { ExecEvent } from "../../../shared/protocol/exec-event-params.ts";
import { tailOf } from "../text-ends.ts";
import { tailChars } from "./session-report.ts";
import type { ShellSession } from "./shell.ts";

/** The report on a background command: that it runs, or how it ended. Its unique eventId lets the gateway detect a duplicate. */
export function execEvent(session: ShellSession, callId: string): ExecEvent {
  const { sessionId, startedAt } = session;
  const base = { eventId: randomUUID(), sessionId, callId, startedAt };
  if (session.status === "running") return { ...base, event: "started" };
  const outcome = session.status === "completed" ? "finished" : "failed";
  return {
    ...base,
    event: session.timedOut ? "timed_out" : outcome,
    exitCode: session.exitCode ?? undefined,
    signal: session.signal ?? undefined,
    outputTail: tailOf(session.output.text, tailChars),
    endedAt: session.endedAt,
  };
}
