import { createHash } from "node:crypto";

/**
 * The id of the message that tells a session of the end of a background command, and of the run that answers it. A
 * command ends once, so its end has one id, whatever its node calls the event.
 */
export function commandEndId(nodeId: string, sessionId: string, callId: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([nodeId, sessionId, callId]))
    .digest("hex");
  return `exec-${digest.slice(0, 40)}`;
}

/** Whether a run answers the end of a background command. For what is shown only: a client chooses the ids of its own runs. */
export function isCommandEnd(runId: string): boolean {
  return /^exec-[0-9a-f]{40}$/.test(runId);
}
