import { listPeers, type PeerRecord } from "../../../shared/peers/registry.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";

/** A step uses peers that were read at most this long before it. Milliseconds. */
export const freshPeersMs = 1000;

/**
 * The nodes and clients that are connected, read at most once for the steps of an invocation that follow one another
 * closely. Errors surface only when a promise is awaited; it is safe to ignore the promises.
 */
export interface ConnectedPeers {
  /** The nodes, read at `since` (epoch ms) or later. */
  nodes(since: number): Promise<PeerRecord[]>;
  /** Connection ids of the clients, which follow every run, read at `since` or later. */
  clients(since: number): Promise<string[]>;
  /** Starts a new read of the clients. */
  refreshClients(): Promise<string[]>;
}

type PeersAgent = Pick<Agent, "table" | "broadcast" | "now">;

/** Reads of the connected peers; none is made before it is asked for. */
export function connectedPeers({ table, broadcast, now }: PeersAgent): ConnectedPeers {
  const nodes = keptRead(now, () => listPeers(table, "node", now()));
  const clients = keptRead(now, () => broadcast.clients());
  return { nodes: nodes.since, clients: clients.since, refreshClients: clients.refresh };
}

function keptRead<T>(now: () => number, read: () => Promise<T>) {
  let last: { at: number; value: Promise<T> } | undefined;
  const refresh = () => {
    last = { at: now(), value: read() };
    last.value.catch(() => {});
    return last.value;
  };
  const since = (at: number) => (last && last.at >= at ? last.value : refresh());
  return { since, refresh };
}

/**
 * Begins to read, while the lease is being acquired, what the first model call of an invocation will most likely need:
 * the peers, the configuration and the files of the prompt. The audience and the timezone come from the configuration as
 * it was last seen. Where they have changed since, the prompt is read again.
 */
export function prefetch(agent: Agent, sessionKey: string): ConnectedPeers {
  const peers = connectedPeers(agent);
  peers.nodes(agent.now());
  peers.clients(agent.now());
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
