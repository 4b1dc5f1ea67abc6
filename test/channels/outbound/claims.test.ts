import { expect, it } from "vitest";
import { createMemoryTable } from "../../../local/world/local-table.ts";
import { claimMessage, keepMessage } from "../../../shared/channels/bridge/bridge-outbox.ts";
import { claimPart } from "../../../shared/channels/outbound/sender.ts";
import type { Table } from "../../../shared/world/world.ts";

/** The table, whose updates are made twice, as the SDK does after a lost response. */
function repeating(table: Table): Table {
  return {
    ...table,
    async update(...write) {
      await table.update(...write);
      return table.update(...write);
    },
  };
}

it("a sender's claim holds when another machine's clock is a few seconds ahead", async () => {
  const table = createMemoryTable();
  const part = { deliveryId: "d", part: 0 };
  expect(await claimPart(table, part, 15_000, 0)).toMatchObject({ state: "claimed" });
  expect(await claimPart(table, part, 35_000, 18_000)).toEqual({ state: "busy" });
  expect(await claimPart(table, part, 45_000, 21_000)).toMatchObject({ state: "claimed", again: true });
});

it("a repeated claim of a bridge's message is recognized, so that the message is sent", async () => {
  const table = createMemoryTable();
  const address = { channel: "signal", accountId: "default" };
  const payload = { ...address, peer: { kind: "dm", id: "me" }, message: { id: "m", text: "hi" } } as const;
  await keepMessage(table, address, { id: "m", at: 0, payload });
  expect(await claimMessage(repeating(table), address, "m", "c-1", 1)).toBe(true);
  expect(await claimMessage(table, address, "m", "c-1", 2)).toBe(false);
});
