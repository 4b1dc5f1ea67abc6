import { nodeToolName } from "../../shared/peers/nodes.ts";
import { type Message, textOf } from "../../shared/protocol/messages.ts";
import { log } from "../../shared/runtime/log.ts";
import type { ExecTask, InboxEntry } from "../../shared/session/inbox-entry.ts";
import type { Agent } from "./agent.ts";
import type { SessionWriter } from "./session-writer.ts";

/**
 * Whether a message tells of the end of a background command to nobody who waits for it: the session was reset since the
 * command was started, or the model has asked for its end itself, by Process.
 */
export async function isObsoleteNotice(
  agent: Agent,
  writer: SessionWriter,
  entry: InboxEntry,
): Promise<boolean> {
  const task = entry.kind === "message" ? entry.task : undefined;
  if (task?.kind !== "exec") return false;
  const isReset = task.conversation !== writer.state.sessionId;
  if (!isReset && !holdsEnd(await agent.history.load(writer.state), task)) return false;
  log("exec.dropped", { sessionKey: writer.sessionKey, entryId: entry.id, why: isReset ? "reset" : "seen" });
  return true;
}

/** Whether a conversation holds the end of a command, as Process answers it. */
function holdsEnd(messages: readonly Message[], { nodeId, sessionId }: ExecTask): boolean {
  const tool = nodeToolName(nodeId, "Process");
  return messages.some(
    (message) =>
      message.role === "toolResult" && message.toolName === tool && saysEnd(textOf(message), sessionId),
  );
}

function saysEnd(text: string, sessionId: string): boolean {
  if (!text.includes(sessionId)) return false;
  try {
    const report = JSON.parse(text) as { sessionId?: unknown; status?: unknown } | null;
    return report?.sessionId === sessionId && (report.status === "completed" || report.status === "failed");
  } catch {
    return false;
  }
}
