import { randomUUID } from "node:crypto";
import type { ExecEvent } from "../../../shared/protocol/schemas.ts";
import type { Outbox } from "../result-outbox.ts";
import { tailOf } from "../truncate.ts";
import type { CommandJournal } from "./command-journal.ts";
import { tailChars } from "./session-report.ts";
import type { ShellSession } from "./shell.ts";

/** A running command is reported this often: the gateway knows it for a day. Milliseconds. */
const reportEveryMs = 12 * 3600_000;

/** Reports the ends of background commands to the gateway, each until it is accepted. */
export interface CommandReports {
  /** A command was left in the background by a call. */
  follow(session: ShellSession, callId: string): void;
}

/** Begins with what the journal holds of processes of this node that were killed. */
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

/** How a command stands, for the log, which holds nothing of what it printed. */
function endingOf({ event, exitCode, signal }: ExecEvent): string {
  if (event === "started") return "still runs";
  if (event === "timed_out") return "timed out";
  if (event === "finished") return "has ended";
  return typeof exitCode === "number" ? `failed: exit ${exitCode}` : `failed${signal ? `: ${signal}` : ""}`;
}

/** The report on a background command: that it runs, or how it ended. Its unique eventId lets the gateway detect a duplicate. */
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
