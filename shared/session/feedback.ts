import { absent, all, append, exists } from "../world/expression.ts";
import { type ItemValue, succeeds, type Table } from "../world/world.ts";
import { acceptStep, notAccepted } from "./inbox.ts";
import { type Feedback, metaKey } from "./state.ts";

/** Max verdicts between two turns. */
const maxFeedback = 20;

/**
 * Records a verdict in the session, and starts nothing. A repeat with the same id changes nothing.
 * @returns false if it was recorded before, or if too many wait
 */
export async function addFeedback(
  table: Table,
  sessionKey: string,
  id: string,
  feedback: Feedback,
  now: number,
): Promise<boolean> {
  const isNew = all(exists("pk"), notAccepted(id), absent(["feedback", maxFeedback - 1]));
  const steps = [append("feedback", feedback as unknown as ItemValue), acceptStep(id, now)];
  return succeeds(table.update(metaKey(sessionKey), steps, isNew));
}
