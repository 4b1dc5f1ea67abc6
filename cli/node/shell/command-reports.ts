import { randomUUID } from "node:crypto";
import type { ExecEvent } from "../../../shared/protocol/schemas.ts";
import type { Outbox } from "../result-outbox.ts";
import { tailOf } from "../truncate.ts";
import type { CommandJournal } from "./command-journal.ts";
import { tailChars } from "./session-report.ts";
import type { ShellSession } from "./shell.ts";

/** Interval of the reports on a running command, in milliseconds. The gateway forgets a command after a day without one. */
const reportEveryMs = 12 * 3600_000;

/** Reports how background commands ended. Each report is sent until the gateway accepts it. */
export interface CommandReports {
  /** Reports on a command that a call left in the background. */
  follow(session: ShellSession, callId: string): void;
}

/** Starts with the reports that killed processes of this node left in the journal. */
export function startReports(
  outbox: Outbox,
  journal: CommandJournal,
  log: (line: string) => void,
): CommandReports {
  const send = (event: ExecEvent): void => {
    log(`background command ${event.sessionId} ${endingOf(event)}`);
    const isOver = event.event !== "started";
    const done = () => (isOver ? journal.remove(event.sessionId) : undefined);
    outbox.add(`event ${event.eventId}`, "node.exec.event", event, { done });
  };
  for (const event of journal.left) send(event);
  return {
    follow(session, callId) {
      journal.keep(execEvent(session, callId));
      const renewals = setInterval(() => send(execEvent(session, callId)), reportEveryMs).unref();
      void session.ended.then(() => {
        clearInterval(renewals);
        const event = execEvent(session, callId);
        journal.keep(event);
        send(event);
      });
    },
  };
}

/** The state of a command for the log, without its output. */
function endingOf({ event, exitCode, signal }: ExecEvent): string {
  if (event === "started") return "still runs";
  if (event === "timed_out") return "timed out";
  if (event === "finished") return "has ended";
  return typeof exitCode === "number" ? `failed: exit ${exitCode}` : `failed${signal ? `: ${signal}` : ""}`;
}

/** The report that a background command runs, or how it ended. The unique eventId lets the gateway detect duplicates. */
function execEvent(session: ShellSession, callId: string): ExecEvent {
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
