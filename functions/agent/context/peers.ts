import { listPeers, type PeerRecord } from "../../../shared/peers/registry.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";
import type { Hold } from "../hold.ts";

/** Who is connected: what a model call needs that is neither the session's nor the configuration's. */
export interface Surroundings {
  /** When the reading began, epoch ms. */
  at: number;
  nodes: Promise<PeerRecord[]>;
  /** Connections of the clients that are told of the run. */
  clients: Promise<string[]>;
}

/** Begins to read who is connected. The promises may be left alone: a failure is whoever awaits them's. */
export function lookAround(agent: Pick<Agent, "table" | "broadcast" | "now">): Surroundings {
  const at = agent.now();
  const nodes = listPeers(agent.table, "node", at);
  const clients = agent.broadcast.clients();
  for (const one of [nodes, clients]) one.catch(() => {});
  return { at, nodes, clients };
}

/** Who is connected as of `since` (epoch ms) or later: what the invocation has read ahead, unless it is older. */
export function surroundingsSince(agent: Agent, hold: Hold, since: number): Surroundings {
  const foreseen = hold.takeForeseen();
  return foreseen && foreseen.at >= since ? foreseen : lookAround(agent);
}

/**
 * Begins to read what the first model call of an invocation will most likely need, while the lease is being taken. The
 * audience and the day are guessed from the configuration as it was last seen: where it has changed, the prompt is read
 * again.
 */
export function foresee(agent: Agent, sessionKey: string): Surroundings {
  const foreseen = lookAround(agent);
  const readPrompt = async () => {
    const fresh = agent.configuration.load();
    fresh.catch(() => {});
    const configuration = await agent.configuration.load({ anyAge: true });
    const audience = audienceOf(sessionKind(sessionKey, keyRules(configuration)));
    const timezone = configuration.userTimezone;
    await agent.prompts.load({ agentId: agentIdOf(sessionKey), ...audience, now: agent.now(), timezone });
  };
  readPrompt().catch((error: unknown) => logError("agent.foresee", error, { sessionKey }));
  return foreseen;
}
