import type { Probing } from "../skills/probing.ts";
import type { Bucket, WakeAgent } from "../world/world.ts";

/** The dependencies of transfers. Includes `Probing`, because the nodes are asked for the programs of a transferred skill. */
export interface TransferWorld extends Probing {
  bucket: Bucket;
  wake: WakeAgent;
}
