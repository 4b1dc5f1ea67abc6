/**
 * A process to kill: writes to a table without end, several items at a time, and prints each acknowledged write.
 * Built to plain JavaScript before it is run, so that it starts in milliseconds.
 *
 * argv: folder, options as JSON (`WriterOptions`). Prints "ready", then a line `<item> <version>` for each write.
 */
import { writeSync } from "node:fs";
import { openDurableStore } from "../../../local/items/disk/durable-store.ts";
import { tableOver } from "../../../local/world/local-table.ts";
import { set } from "../../../shared/world/expression.ts";
import type { Table } from "../../../shared/world/world.ts";
import { itemAt, keyAt, type WriterOptions } from "./table-history.ts";

const [dir = "", json = "{}"] = process.argv.slice(2);
const { fsync, logBytes, versions } = JSON.parse(json) as WriterOptions;
const onError = (error: unknown) => process.stderr.write(`${error}\n`);
const table = tableOver(await openDurableStore({ dir, fsync, logBytes, onError }));
writeSync(1, "ready\n");
await Promise.all(versions.map((version, item) => writeOn(table, item, version)));

async function writeOn(table: Table, item: number, from: number): Promise<never> {
  for (let version = from + 1; ; version++) {
    await write(table, item, version);
    writeSync(1, `${item} ${version}\n`);
    // Lets the others write before this one does again.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Brings an item to a version, by a put, an update or a delete. */
async function write(table: Table, item: number, version: number): Promise<void> {
  const key = keyAt(item);
  const after = itemAt(item, version);
  if (after === undefined) await table.delete(key);
  else if (version % 3 > 0 || itemAt(item, version - 1) === undefined) await table.put({ ...key, ...after });
  else
    await table.update(
      key,
      Object.entries(after).map(([name, value]) => set(name, value)),
    );
}
