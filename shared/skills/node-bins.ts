import { normalId } from "../peers/peer-ids.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { absent, equal, set } from "../world/expression.ts";
import { type ItemValue, type Key, succeeds, type Table } from "../world/world.ts";
import { type NodeBins, nothingKnown } from "./bin-probes.ts";

/** TTL of what is known of a node's programs, in seconds after the last change. */
const ttlSeconds = 90 * 86_400;

/** Maximum attempts of an optimistic write. */
const maxAttempts = 10;

const keyOf = (nodeId: string): Key => ({ pk: `NODE#${normalId(nodeId)}`, sk: "BINS" });

/** What is known of a node's programs, whether or not it is connected. */
export async function readNodeBins(table: Table, nodeId: string): Promise<NodeBins> {
  const item = await table.get(keyOf(nodeId));
  if (!item) return nothingKnown;
  const { known, pending, answers, version } = item as unknown as NodeBins;
  return { known, pending, answers, version };
}

/**
 * Stores what `next` makes of it; the same object writes nothing. `next` is called again after a conflict.
 * @param now epoch milliseconds
 * @throws PeerError 409 (retryable) after too many conflicts
 */
export async function changeNodeBins(
  table: Table,
  nodeId: string,
  now: number,
  next: (bins: NodeBins) => NodeBins,
): Promise<NodeBins> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const bins = await readNodeBins(table, nodeId);
    const changed = next(bins);
    if (changed === bins) return bins;
    const steps = [
      set("known", changed.known),
      set("pending", changed.pending as unknown as ItemValue),
      set("answers", changed.answers),
      set("version", changed.version),
      set("expiresAt", Math.floor(now / 1000) + ttlSeconds),
    ];
    const unchanged = bins.version === 0 ? absent("version") : equal("version", bins.version);
    if (await succeeds(table.update(keyOf(nodeId), steps, unchanged))) return changed;
  }
  const message = `the programs of the node ${nodeId} are changed by others at the same time`;
  throw new PeerError(code.conflict, message, { retryable: true });
}

/** Forgets what is known of a node's programs: another machine may have its id from now on. */
export async function dropNodeBins(table: Table, nodeId: string): Promise<void> {
  await table.delete(keyOf(nodeId));
}
