import type { EventName, Events } from "../protocol/events.ts";
import { type EventFrame, eventFrame } from "../protocol/frames.ts";
import { logError } from "../runtime/log.ts";
import type { Sockets, Table } from "../world/world.ts";
import { dropConnection, listPeers } from "./registry.ts";

/** Sends events to connected clients. */
export interface Broadcast {
  /**
   * Connection ids of all clients connected now.
   * @param good as in `listPeers`
   */
  clients(good?: Promise<ReadonlySet<string>>): Promise<string[]>;
  /**
   * Posts an event to these connections in parallel. Never throws: an ended connection is removed from the
   * registry, and other failures are logged. `fallback` is sent when the payload is too large.
   */
  send<E extends EventName>(
    connectionIds: readonly string[],
    event: E,
    payload: Events[E],
    fallback?: Events[E],
  ): Promise<void>;
}

export function createBroadcast(table: Table, sockets: Sockets, now: () => number): Broadcast {
  const post = async (connectionId: string, frame: EventFrame, fallback: EventFrame | undefined) => {
    try {
      let outcome = await sockets.post(connectionId, frame);
      if (outcome === "too large" && fallback) outcome = await sockets.post(connectionId, fallback);
      if (outcome === "gone") await dropConnection(table, connectionId);
    } catch (error) {
      logError("broadcast.failed", error, { connectionId, name: frame.event });
    }
  };
  return {
    async clients(good) {
      const peers = await listPeers(table, "client", now(), good);
      return peers.map((peer) => peer.connectionId);
    },
    async send(connectionIds, event, payload, fallback) {
      const frame = eventFrame(event, payload);
      const shorter = fallback && eventFrame(event, fallback);
      await Promise.all(connectionIds.map((connectionId) => post(connectionId, frame, shorter)));
    },
  };
}
