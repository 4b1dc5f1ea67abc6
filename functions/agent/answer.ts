import { okFrame } from "../../shared/protocol/frames.ts";
import type { InboxEntry } from "../../shared/session/state.ts";
import type { Agent } from "./agent.ts";

/** An entry that somebody may wait for: a command or a method whose answer was deferred until it is done. */
type AnsweredEntry = Exclude<InboxEntry, { kind: "message" }>;

/**
 * Answers the request that an entry stands for, in the shape in which it came: a method's result, or a command's reply.
 * @throws what the socket or the channel throws
 */
export async function answerEntry(
  agent: Pick<Agent, "channels" | "sockets">,
  entry: AnsweredEntry,
  result: object,
  command: string,
  response: string,
): Promise<void> {
  const { origin } = entry;
  if (origin.kind === "channel") {
    await agent.channels.deliver(origin, entry.id, response);
  } else if (origin.connectionId && origin.requestId) {
    const payload = entry.via === "method" ? result : { status: "command", command, response };
    await agent.sockets.post(origin.connectionId, okFrame(origin.requestId, payload));
  }
}
