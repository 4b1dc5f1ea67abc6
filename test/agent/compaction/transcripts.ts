import type { Message } from "../../../shared/protocol/messages.ts";
import type { Random } from "../../support/random.ts";

export const user = (text: string, timestamp = 1): Message => ({ role: "user", content: text, timestamp });

export const assistant = (text: string, ...callIds: string[]): Message => ({
  role: "assistant",
  content: [
    ...(text === "" ? [] : [{ type: "text", text } as const]),
    ...callIds.map(
      (id) => ({ type: "toolCall", id, name: "Bash", arguments: { command: `run ${id}` } }) as const,
    ),
  ],
  timestamp: 2,
});

export const result = (callId: string, text: string): Message => ({
  role: "toolResult",
  toolCallId: callId,
  toolName: "Bash",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: 3,
});

/**
 * A conversation as the table may contain it: questions, answers, calls with and without results, and repeated call ids.
 * @param most characters of the longest text
 */
export function randomTranscript(random: Random, turns: number, most: number): Message[] {
  const messages: Message[] = [];
  const text = () => "x".repeat(random.integer(10) === 0 ? random.integer(most) : random.integer(200));
  for (let turn = 0; turn < turns; turn++) {
    messages.push(user(text()));
    for (let step = random.integer(4); step > 0; step--) {
      const ids = Array.from({ length: 1 + random.integer(3) }, (_, i) => `call_${random.integer(5)}_${i}`);
      messages.push(assistant(text(), ...ids));
      for (const id of ids) if (random.integer(12) > 0) messages.push(result(id, text()));
    }
    if (random.integer(10) > 0) messages.push(assistant(text() || "done"));
  }
  return messages;
}
