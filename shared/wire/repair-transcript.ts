import { type Message, type ToolResultMessage, toolCallsOf } from "../protocol/messages.ts";

/**
 * Makes a transcript valid for every provider: a tool call without a result gets an error result, and a result without
 * its call is omitted. A complete transcript stays unchanged.
 */
export function repairTranscript(messages: readonly Message[]): Message[] {
  const repaired: Message[] = [];
  let open: ToolResultMessage[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      const index = open.findIndex((missing) => missing.toolCallId === message.toolCallId);
      if (index < 0) continue;
      open.splice(index, 1);
      repaired.push(message);
      continue;
    }
    repaired.push(...open, message);
    open = toolCallsOf(message).map((call) => ({
      role: "toolResult",
      toolCallId: call.id,
      toolName: call.name,
      content: [{ type: "text", text: "Error: interrupted, outcome unknown" }],
      isError: true,
      timestamp: message.timestamp,
    }));
  }
  return [...repaired, ...open];
}
