import type { Probing } from "../skills/probing.ts";
import type { Bucket, WakeAgent } from "../world/world.ts";

/** What transfers need of the outside. A skill that arrives has the nodes asked for its programs. */
export interface TransferWorld extends Probing {
  bucket: Bucket;
  wake: WakeAgent;
}
