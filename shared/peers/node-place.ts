import { code, PeerError, type PlaceTaken } from "../protocol/errors.ts";
import { eventFrame } from "../protocol/frames.ts";
import { equal, set } from "../world/expression.ts";
import { type Sockets, succeeds, type Table } from "../world/world.ts";
import { type PeerRecord, peerKey, readPeer } from "./registry.ts";

/** How long the connected node of an id has to answer `node.ping`, in milliseconds. */
const answerMs = 5000;

/** How long its answer stays valid, in milliseconds. */
const goodForMs = 10_000;

/** After how long a refused node may connect again while the connected one is being asked, in milliseconds. */
const askAgainMs = 1000;

/**
 * Checks that a node may replace the connected node with its id. The same process may, because it reconnects. Another
 * process may if the connected one does not answer: its machine may have lost power or network without API Gateway
 * noticing.
 * @param arriving the new node; `instance` identifies its process, and nodes without one are not checked
 * @param now epoch milliseconds
 * @throws PeerError 409 with `PlaceTaken`
 */
export async function checkPlace(
  { table, sockets }: { table: Table; sockets: Sockets },
  arriving: { id: string; instance: string; tokenId: string },
  now: number,
): Promise<void> {
  const { id, instance, tokenId } = arriving;
  const present = await readPeer(table, "node", id, now);
  // A node without an instance is not this project's, and does not answer `node.ping`.
  if (!present?.instance || present.instance === instance || present.tokenId !== tokenId) return;
  const { connectionId, askedAt, answeredAt } = present;
  if (askedAt !== undefined && (answeredAt === undefined || answeredAt < askedAt)) {
    if (now - askedAt >= answerMs) return;
    throw taken(present, false);
  }
  if (answeredAt !== undefined && now - answeredAt < goodForMs) throw taken(present, true);
  await succeeds(
    table.update(peerKey("node", id), [set("askedAt", now)], equal("connectionId", connectionId)),
  );
  if ((await sockets.post(connectionId, eventFrame("node.ping", {}), { once: true })) === "gone") return;
  throw taken(present, false);
}

/** Records that a node has answered `node.ping`. @param now epoch milliseconds */
export async function recordPong(
  table: Table,
  { peerId, connectionId }: { peerId: string; connectionId: string },
  now: number,
): Promise<void> {
  await succeeds(
    table.update(peerKey("node", peerId), [set("answeredAt", now)], equal("connectionId", connectionId)),
  );
}

function taken({ id, platform, connectedAt }: PeerRecord, alive: boolean): PeerError {
  const since = new Date(connectedAt).toISOString();
  const message = `a node with the id "${id}" is connected (${platform || "unknown system"}, since ${since}): stop that node, or choose another id`;
  const details: PlaceTaken = { taken: true, alive, retryAfterMs: askAgainMs };
  return new PeerError(code.conflict, message, { retryable: true, details });
}
