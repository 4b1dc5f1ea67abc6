import { code, PeerError, type PlaceTaken } from "../protocol/errors.ts";
import { eventFrame } from "../protocol/frames.ts";
import { equal, set } from "../world/expression.ts";
import { type Sockets, succeeds, type Table } from "../world/world.ts";
import { type PeerRecord, peerKey, readPeer } from "./registry.ts";

/** Time that the present node of an id has to answer `node.ping`, in milliseconds. */
const answerMs = 5000;

/** Time for which its answer counts, in milliseconds. */
const goodForMs = 10_000;

/** When a node that was refused may ask again, in milliseconds, while the present one is being asked. */
const askAgainMs = 1000;

/**
 * Decides whether a node may take the place of the connected node of its id. The same process may, as it reconnects.
 * Another process may when the present one does not answer: its machine lost power or network, and API Gateway has
 * not noticed yet.
 * @param arriving `instance` names the node's process; nodes without one are not checked
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
  // One without an instance is not ours, and would not answer.
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

/** Notes that a node has answered `node.ping`. @param now epoch milliseconds */
export async function recordAnswer(
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
  const message = `a node with the id "${id}" is connected (${platform || "unknown system"}, since ${since}): stop it, or choose another id`;
  const details: PlaceTaken = { taken: true, alive, retryAfterMs: askAgainMs };
  return new PeerError(code.conflict, message, { retryable: true, details });
}
