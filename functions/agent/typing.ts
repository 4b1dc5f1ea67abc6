import type { Origin } from "../../shared/session/inbox-entry.ts";
import type { Agent } from "./agent.ts";

/** Platforms show "typing" for only a few seconds. Milliseconds between two announcements. */
const typingEveryMs = 4000;

/** Shows "typing" on the channel of `origin` until the work ends, even by an error. Without a channel it only does the work. */
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
