import { isConnected, listNodes, type PeerRecord } from "../../../shared/peers/registry.ts";
import { logError } from "../../../shared/runtime/log.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";

/** Max age of the peer list that a step uses. Milliseconds. */
export const freshPeersMs = 1000;

/**
 * The connected nodes and clients. Steps of an invocation that closely follow one another share one read. A failed read
 * rejects only where its promise is awaited; it is safe to ignore the promises.
 */
export interface ConnectedPeers {
  /** The nodes, read at `since` (epoch ms) or later. */
  nodes(since: number): Promise<PeerRecord[]>;
  /** The nodes and those that have disconnected (`leftAt`). */
  known(since: number): Promise<PeerRecord[]>;
  /** Connection ids of the clients, read at `since` or later. Clients receive the events of every run. */
  clients(since: number): Promise<string[]>;
  /** Starts a new read of the clients. */
  refreshClients(): Promise<string[]>;
}

type PeersAgent = Pick<Agent, "table" | "broadcast" | "now">;

/** Creates the reads of the connected peers. None starts before its first use. */
export function connectedPeers({ table, broadcast, now }: PeersAgent): ConnectedPeers {
  const nodes = sharedRead(now, () => listNodes(table, now()));
  const clients = sharedRead(now, () => broadcast.clients());
  const connected = async (since: number) => (await nodes.since(since)).filter(isConnected);
  return { nodes: connected, known: nodes.since, clients: clients.since, refreshClients: clients.refresh };
}

function sharedRead<T>(now: () => number, read: () => Promise<T>) {
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
 * Starts the reads that the first model call of an invocation will probably need, in parallel with acquiring the lease:
 * the peers, the configuration, the files of the prompt, the day's spending, and what a message may remind of. Audience and
 * timezone come from the cached configuration; if they have changed since, the prompt is read again.
 */
export function prefetch(agent: Agent, sessionKey: string): ConnectedPeers {
  const peers = connectedPeers(agent);
  peers.known(agent.now());
  peers.clients(agent.now());
  agent.book.sums().catch(() => {});
  agent.reminders.prepare(sessionKey);
  const readPrompt = async () => {
    const fresh = agent.configuration.load();
    fresh.catch(() => {});
    const configuration = await agent.configuration.load({ anyAge: true });
    const audience = audienceOf(sessionKind(sessionKey, keyRules(configuration)));
    const timezone = configuration.userTimezone;
    agent.remoteTools.prepare(configuration);
    await agent.prompts.load({ agentId: agentIdOf(sessionKey), audience, now: agent.now(), timezone });
  };
  readPrompt().catch((error: unknown) => logError("agent.prefetch", error, { sessionKey }));
  return peers;
}
