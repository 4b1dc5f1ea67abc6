import { remove, set } from "../../shared/world/expression.ts";
import type { ItemStore } from "../items/item-store.ts";
import { tableOver } from "./local-table.ts";

/**
 * Drops every lease (`owner`, `leaseUntil`), of sessions and of dream sweeps, and makes their work due. Only before the
 * first function runs: this process holds the folder's lock, so the holders have ended. Their epochs stay, so that a write of
 * theirs would still fail.
 * @param now epoch ms
 */
export async function dropLeases(items: ItemStore, now: number): Promise<void> {
  const table = tableOver(items);
  const leased = [...items.all()].filter(({ leaseUntil }) => leaseUntil !== undefined);
  const free = [remove("owner"), remove("leaseUntil")];
  for (const { pk, sk, duePk } of leased) {
    const due = duePk === undefined ? [] : [set("dueAt", now)];
    await table.update({ pk, sk }, [...free, ...due]);
  }
}
