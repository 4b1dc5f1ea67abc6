import type { Events } from "../protocol/events.ts";
import { type EventFrame, eventFrame, followCapability } from "../protocol/frames.ts";
import { log, logError } from "../runtime/log.ts";
import type { PostOptions, Sockets, Table } from "../world/world.ts";
import { dropConnection, listPeers } from "./registry.ts";

/** Events for all clients. */
type ClientEvent =
  | ("chat" | "tool.result" | "node.changed" | "memory.extracted")
  | ("approval.requested" | "approval.resolved" | "budget.warning" | "budget.reached" | "agent.changed")
  | "session.changed";

/**
 * Sends events to connected clients. Nothing here throws: an ended connection is removed from the registry, and other
 * failures are logged. A client that does not accept an event of a run gets no more events of that run except its end.
 */
export interface Broadcast {
  /** Connection ids of all clients connected now. */
  clients(): Promise<string[]>;
  /** Those of these connections that follow all sessions (`followCapability`), as the last `clients` found them. */
  following(connectionIds: readonly string[]): string[];
  /**
   * Posts an event to these connections in parallel, to each after its pending offers. `fallback` is sent when the
   * payload is too large.
   */
  send<E extends ClientEvent>(
    connectionIds: readonly string[],
    event: E,
    payload: Events[E],
    fallback?: Events[E],
  ): Promise<void>;
  /**
   * Posts an optional event: one attempt, which lasts at most a second.
   * @returns whether the client received it
   */
  offer<E extends ClientEvent>(connectionId: string, event: E, payload: Events[E]): Promise<boolean>;
}

export function createBroadcast(table: Table, sockets: Sockets, now: () => number): Broadcast {
  /** Connections that did not accept an event, each with the run (`keyOf`). */
  const leftOut = new Set<string>();
  /** Connections of clients with `followCapability`. */
  let followers = new Set<string>();
  /** Offers in progress, by connection and run. */
  const offers = new Map<string, Promise<boolean>>();

  const post = async (connectionId: string, key: string, frames: EventFrame[], options?: PostOptions) => {
    const name = frames[0]?.event;
    try {
      for (const frame of frames) {
        const outcome = await sockets.post(connectionId, frame, options);
        if (outcome === "too large") continue;
        if (outcome === "gone") await dropConnection(table, connectionId);
        if (outcome === "busy") {
          leftOut.add(key);
          log("broadcast.unread", { connectionId, name });
        }
        return outcome === "sent";
      }
    } catch (error) {
      logError("broadcast.failed", error, { connectionId, name });
    }
    return false;
  };
  const tell = async (connectionId: string, payload: Events[ClientEvent], frames: EventFrame[]) => {
    const key = keyOf(connectionId, payload);
    // When an offer ends, its caller may make another one before this loop continues.
    for (let offer = offers.get(key); offer; offer = offers.get(key)) await offer;
    if (endsRun(payload)) leftOut.delete(key);
    if (!leftOut.has(key)) await post(connectionId, key, frames);
    if (endsRun(payload)) leftOut.delete(key);
  };
  return {
    async clients() {
      const peers = await listPeers(table, "client", now());
      const follows = peers.filter(({ capabilities }) => capabilities?.includes(followCapability));
      followers = new Set(follows.map(({ connectionId }) => connectionId));
      return peers.map(({ connectionId }) => connectionId);
    },
    following: (connectionIds) => connectionIds.filter((id) => followers.has(id)),
    async send(connectionIds, event, payload, fallback) {
      const frames = [payload, ...(fallback ? [fallback] : [])].map((one) => eventFrame(event, one));
      await Promise.all(connectionIds.map((connectionId) => tell(connectionId, payload, frames)));
    },
    offer(connectionId, event, payload) {
      const key = keyOf(connectionId, payload);
      if (leftOut.has(key)) return Promise.resolve(false);
      const offer = post(connectionId, key, [eventFrame(event, payload)], { once: true }).finally(() =>
        offers.delete(key),
      );
      offers.set(key, offer);
      return offer;
    },
  };
}

/** Events without a run, such as the result of a client's own request, share one key and are posted like a run's end. */
function keyOf(connectionId: string, payload: Events[ClientEvent]): string {
  return `${connectionId} ${runOf(payload) ?? ""}`;
}

function runOf(payload: Events[ClientEvent]): string | undefined {
  return "runId" in payload ? payload.runId : undefined;
}

function endsRun(payload: Events[ClientEvent]): boolean {
  if (runOf(payload) === undefined) return true;
  return "state" in payload && (payload.state === "final" || payload.state === "error");
}
