import { guestOrigin, joinOrigins, machineOrigin, peerOrigin, unknownOrigin } from "../origins/origins.ts";
import type { Message } from "../protocol/messages.ts";
import type { InboxEntry } from "./inbox-entry.ts";
import { wordsRead } from "./run.ts";
import type { SessionState } from "./state.ts";
import { readSummaryMessage } from "./summary-message.ts";

/** Whose words the message of an entry contains. */
export function originsOfEntry(entry: Extract<InboxEntry, { kind: "message" }>): string[] {
  const { task, origins, role, senderId = "", origin } = entry;
  if (task?.kind === "session") return joinOrigins(origins ?? [peerOrigin(task.askers.at(-1) ?? "")]);
  const channel = origin.kind === "channel" ? origin.channel : "client";
  const guest = role === "guest" ? [guestOrigin(channel, senderId)] : [];
  return joinOrigins(origins, guest, task?.kind === "exec" ? [machineOrigin(task.nodeId)] : []);
}

/**
 * Whose words a conversation contains that an earlier version has stored, or that was imported, as far as its messages say it:
 * the results of the gateway's own tools count as the owner's.
 */
function originsOfOld(messages: readonly Message[]): string[] {
  const origins = messages.flatMap((message): string[] => {
    if (message.role === "assistant" || readSummaryMessage(message)) return [];
    if (message.role === "toolResult") return nodeOf(message.toolName);
    if (!message.origin) return [unknownOrigin];
    const { channel, peerKind = "dm", peerId = "" } = message.origin;
    return peerKind === "dm" ? [] : [guestOrigin(channel, peerId)];
  });
  return joinOrigins(origins);
}

function nodeOf(tool: string): string[] {
  const [node = "", name] = tool.split("__");
  return name === undefined || node === "gsv" ? [] : [machineOrigin(node)];
}

/** Whose words a conversation contains, besides the owner's. @param messages those of it that are read */
export function originsOfSession(
  { origins, run }: Pick<SessionState, "origins" | "run">,
  messages: readonly Message[],
): string[] {
  return joinOrigins(origins ?? originsOfOld(messages), run && wordsRead(run));
}
