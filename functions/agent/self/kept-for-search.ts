import { logError } from "../../../shared/runtime/log.ts";
import type { Agent } from "../agent.ts";

/**
 * Makes an archive of a reset or a compaction searchable. A failure is only logged: the next search builds the missing
 * segment.
 */
export async function keepForSearch(agent: Pick<Agent, "recall">, archiveKey: string): Promise<void> {
  try {
    await (await agent.recall()).keep(archiveKey);
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
