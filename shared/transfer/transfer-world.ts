import type { Bucket, Schedules, Sockets, Table, WakeAgent } from "../world/world.ts";

/** What transfers need of the outside. */
export interface TransferWorld {
  table: Table;
  bucket: Bucket;
  sockets: Pick<Sockets, "post">;
  schedules: Schedules;
  wake: WakeAgent;
  now: () => number;
}
