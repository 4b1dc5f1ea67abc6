import type { SessionState } from "../../shared/session/state.ts";
import { originsOfSession } from "../../shared/session/words-read.ts";
import type { Agent } from "./agent.ts";

/** Whose words a session's conversation contains, besides the owner's. Reads its messages only if no set is stored. */
export async function originsOf(agent: Pick<Agent, "history">, state: SessionState): Promise<string[]> {
  return originsOfSession(state, state.origins ? [] : await agent.history.load(state));
}
