import { randomUUID } from "node:crypto";
import type { ExecEvent } from "../../../shared/protocol/gsv-gateway.ts";
import { tailOf } from "../text-ends.ts";
import { tailChars } from "./session-report.ts";
import type { ShellSession } from "./shell.ts";

/** The event for the end of a background command. Its unique eventId lets the gateway detect a duplicate. */
export function execEvent(session: ShellSession, callId: string): ExecEvent {
  const outcome = session.status === "completed" ? "finished" : "failed";
  return {
    eventId: randomUUID(),
    sessionId: session.sessionId,
    event: session.timedOut ? "timed_out" : outcome,
    callId,
    exitCode: session.exitCode ?? undefined,
    signal: session.signal ?? undefined,
    outputTail: tailOf(session.output.text, tailChars),
    startedAt: session.startedAt,
    endedAt: session.endedAt,
  };
}
