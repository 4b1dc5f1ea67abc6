import type { Connection } from "../../../cli/gateway/connection.ts";
import { type Mode, readPeer } from "../../../shared/peers/registry.ts";
import type { Table } from "../../../shared/world/world.ts";

/** A client or node of a run. */
export interface ChaosPeer {
  mode: Mode;
  id: string;
  /** Why its connection ended for good, if it did: peers normally reconnect. */
  ends: string[];
  /** Its current connection; undefined while disconnected. */
  connectionId(): string | undefined;
  close(): Promise<void>;
}

/** A busy machine may delay pongs on a live socket for this long. Milliseconds. */
export const peerTiming = { pongTimeoutMs: 40_000 };

export function watchPeer(connection: Connection, mode: Mode, id: string): ChaosPeer {
  const ends: string[] = [];
  connection.onState((state) => {
    if (state.status === "closed" && state.error) ends.push(`${mode} ${id}: ${state.error.message}`);
  });
  const connectionId = () => {
    const { state } = connection;
    return state.status === "connected" ? state.hello.server.connectionId : undefined;
  };
  return { mode, id, ends, connectionId, close: () => connection.close() };
}

/**
 * Waits until each peer is connected and the gateway knows its connection: otherwise events and calls cannot reach it.
 * @returns a sentence for each peer for which this did not happen within `maxMs`
 */
export async function untilFound(
  table: Table,
  peers: readonly ChaosPeer[],
  maxMs: number,
): Promise<string[]> {
  const deadline = Date.now() + maxMs;
  for (;;) {
    const found = await Promise.all(peers.map(({ mode, id }) => readPeer(table, mode, id, Date.now())));
    const lost = peers.filter(
      (peer, i) => !peer.connectionId() || found[i]?.connectionId !== peer.connectionId(),
    );
    if (lost.length === 0 || Date.now() > deadline)
      return lost.map(({ mode, id }) => `${mode} ${id} is not on the connection that the gateway knows`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
