import { listPeers, type PeerRecord } from "../../../shared/peers/registry.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";

/**
 * The nodes and clients that are connected, as they are being read. Errors surface only when a promise is awaited; it is
 * safe to ignore the promises.
 */
export interface ConnectedPeers {
  /** When the reading began, epoch ms. */
  at: number;
  nodes: Promise<PeerRecord[]>;
  /** Connection ids of the clients, which follow every run. */
  clients: Promise<string[]>;
}

/** Begins to read the connected peers. */
export function readPeers(agent: Pick<Agent, "table" | "broadcast" | "now">): ConnectedPeers {
  const at = agent.now();
  const nodes = listPeers(agent.table, "node", at);
  const clients = agent.broadcast.clients();
  for (const one of [nodes, clients]) one.catch(() => {});
  return { at, nodes, clients };
}

/** The prefetched peers if their reading began at `since` (epoch ms) or later, else the peers read anew. */
export function takePrefetched(
  agent: Pick<Agent, "table" | "broadcast" | "now">,
  prefetched: ConnectedPeers | undefined,
  since: number,
): ConnectedPeers {
  return prefetched && prefetched.at >= since ? prefetched : readPeers(agent);
}

/**
 * Begins to read, while the lease is being taken, what the first model call of an invocation will most likely need: the
 * peers, the configuration and the files of the prompt. The audience and the timezone come from the configuration as it
 * was last seen. Where they have changed since, the prompt is read again.
 */
export function prefetch(agent: Agent, sessionKey: string): ConnectedPeers {
  const peers = readPeers(agent);
  const readPrompt = async () => {
    const fresh = agent.configuration.load();
    fresh.catch(() => {});
    const configuration = await agent.configuration.load({ anyAge: true });
    const audience = audienceOf(sessionKind(sessionKey, keyRules(configuration)));
    const timezone = configuration.userTimezone;
    await agent.prompts.load({ agentId: agentIdOf(sessionKey), audience, now: agent.now(), timezone });
  };
  readPrompt().catch((error: unknown) => logError("agent.prefetch", error, { sessionKey }));
  return peers;
}
