import type { Origin } from "../../shared/session/inbox-entry.ts";
import type { Agent } from "./agent.ts";

/** Platforms show "typing" for a few seconds only. Milliseconds between two announcements. */
const typingEveryMs = 4000;

/** Shows "typing" on the channel that a message came from, until the work has ended, well or not. Without an origin it only does the work. */
export async function whileTyping<T>(
  { channels }: Pick<Agent, "channels">,
  origin: Origin | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (origin?.kind !== "channel") return work();
  const show = () => void channels.typing(origin);
  show();
  const timer = setInterval(show, typingEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
