import type { Events } from "../../../shared/protocol/events.ts";
import { fieldsOf } from "./event-fields.ts";
import type { NodeParts } from "./node-parts.ts";

/** Maximum JSON size of the log lines in one frame, in bytes. */
const mostLogBytes = 120 * 1024;

/** Answers `logs.get` with the newest lines of the node's log. */
export function answerLogs({ connection, logs }: NodeParts, payload: Events["logs.get"]): void {
  const { callId, lines } = fieldsOf(payload);
  if (typeof callId !== "string") return;
  const count = typeof lines === "number" && lines > 0 ? Math.floor(lines) : 100;
  connection.request("logs.result", { callId, ...logs.newest(count, mostLogBytes) }).catch(() => {
    // After a lost connection the answer is not needed.
  });
}
