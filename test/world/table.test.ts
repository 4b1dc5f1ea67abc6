import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDurableStore } from "../../local/items/disk/durable-store.ts";
import { tableOver } from "../../local/world/local-table.ts";
import { startEmulatedState } from "../support/emulated-state.ts";
import { describeTable } from "./table-contract.ts";

async function openLocal(fsync: boolean) {
  const dir = await mkdtemp(join(tmpdir(), "gsv-table-"));
  const store = await openDurableStore({ dir, fsync });
  const close = async () => {
    await store.close();
    await rm(dir, { recursive: true });
  };
  return { table: tableOver(store), close };
}

describeTable("the table over DynamoDB", startEmulatedState);
describeTable("the local table", () => openLocal(false));
describeTable("the local table that syncs", () => openLocal(true));
