import type { LastExtraction } from "../../shared/protocol/memory-schemas.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Shows a line when memories of the last conversation were recorded, or why none were. Returns a function that unsubscribes. */
export function followExtractions(
  gateway: Pick<Gateway, "onEvent">,
  sessionKey: string,
  say: (line: string) => void,
): () => void {
  return gateway.onEvent("memory.extracted", (extraction) => {
    if (extraction.sessionKey === sessionKey) say(lineOf(extraction));
  });
}

function lineOf({ state, count = 0, reason }: LastExtraction): string {
  if (state === "pending") return `No memories recorded yet, trying again later: ${reason}`;
  if (state !== "done") return `No memories recorded: ${reason ?? "stopped"}`;
  const things = count === 1 ? "1 thing" : count === 0 ? "nothing" : `${count} things`;
  return `Remembered ${things} from the last conversation.`;
}
