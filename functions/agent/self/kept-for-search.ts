import { countChange } from "../../../shared/recall/changes.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { Agent } from "../agent.ts";

/**
 * Makes an archive of a reset or a compaction searchable. A failure is only logged: the next search builds the missing
 * segment.
 */
export async function keepForSearch(
  agent: Pick<Agent, "recall" | "reminders" | "table">,
  sessionKey: string,
  archiveKey: string,
): Promise<void> {
  try {
    await (await agent.recall()).keep(archiveKey);
    await countChange(agent.table, agentIdOf(sessionKey));
    agent.reminders.refresh(sessionKey);
  } catch (error) {
    logError("recall.segment", error, { key: archiveKey });
  }
}

/** Removes an archive that is about to be deleted from the search. A failure is only logged. */
export async function dropFromSearch(agent: Pick<Agent, "recall">, archiveKey: string): Promise<void> {
  try {
    await (await agent.recall()).drop(archiveKey);
  } catch (error) {
    logError("recall.segment", error, { key: archiveKey });
  }
}
