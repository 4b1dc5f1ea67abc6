/**
 * A process that writes to a table, item by item, until a write is refused. Prints the number of the last acknowledged
 * item and the error, waits for a line on stdin, and goes on by ten items.
 *
 * argv: folder.
 */
import { once } from "node:events";
import { openDurableStore } from "../../../local/items/disk/durable-store.ts";
import { tableOver } from "../../../local/world/local-table.ts";

// The kernel's limit of a file's size ends a process that does not ask for the error.
process.on("SIGXFSZ", () => {});
const store = await openDurableStore({ dir: process.argv[2] ?? "" });
const table = tableOver(store);
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const text = "x".repeat(5000);
let n = 0;
let limit = Number.POSITIVE_INFINITY;

say({ ready: true });
await once(process.stdin, "data");
while (n < limit) {
  try {
    await table.put({ pk: "P", sk: `${n}`, text });
    n++;
  } catch (error) {
    const isSeen = (await table.get({ pk: "P", sk: `${n}` })) !== undefined;
    say({ written: n, error: String(error), isSeen });
    await once(process.stdin, "data");
    limit = n + 10;
  }
}
say({ written: n });
setInterval(() => {}, 1000);
