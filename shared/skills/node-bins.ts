import { normalId } from "../peers/peer-ids.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { absent, equal, set } from "../world/expression.ts";
import { type ItemValue, type Key, succeeds, type Table } from "../world/world.ts";
import { type NodeBins, nothingKnown } from "./bin-probes.ts";

/** TTL of a node's known programs, in seconds after the last change. */
const ttlSeconds = 90 * 86_400;

/** Maximum attempts of an optimistic write. */
const maxAttempts = 10;

const keyOf = (nodeId: string): Key => ({ pk: `NODE#${normalId(nodeId)}`, sk: "BINS" });

/** The known programs of a node, whether or not it is connected. */
export async function readNodeBins(table: Table, nodeId: string): Promise<NodeBins> {
  const item = await table.get(keyOf(nodeId));
  if (!item) return nothingKnown;
  const { known, pending, answers, version } = item as unknown as NodeBins;
  return { known, pending, answers, version };
}

/**
 * Stores the result of `next`; an unchanged object writes nothing. `next` is called again after a conflict.
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
  const message = `the known programs of the node ${nodeId} are being changed; try again`;
  throw new PeerError(code.conflict, message, { retryable: true });
}

/** Deletes the known programs of a node: another machine may use its id from now on. */
export async function dropNodeBins(table: Table, nodeId: string): Promise<void> {
  await table.delete(keyOf(nodeId));
}
