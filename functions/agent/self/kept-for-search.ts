import { logError } from "../../../shared/runtime/log.ts";
import type { Agent } from "../agent.ts";

/**
 * Makes an archive searchable that a reset or a compaction has written. They do not fail with it: the next search makes up
 * for a segment that is missing.
 */
export async function keepForSearch(agent: Pick<Agent, "recall">, archiveKey: string): Promise<void> {
  try {
    await (await agent.recall()).keep(archiveKey);
  } catch (error) {
    logError("recall.segment", error, { key: archiveKey });
  }
}

/** Forgets an archive that is about to be deleted. What could not be forgotten is found as long as it is live, once. */
export async function dropFromSearch(agent: Pick<Agent, "recall">, archiveKey: string): Promise<void> {
  try {
    await (await agent.recall()).drop(archiveKey);
  } catch (error) {
    logError("recall.segment", error, { key: archiveKey });
  }
}
