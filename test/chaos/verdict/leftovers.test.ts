import { expect, it } from "vitest";
import { findLeftovers } from "./leftovers.ts";

const expiresAt = 1;
const living = { peers: new Map([["client c", "new"]]), ended: new Set(["old"]) };
const rest = [
  { pk: "CONN#new", sk: "META", expiresAt },
  { pk: "PEER#client", sk: "c", connectionId: "new", expiresAt },
  // A second $connect wrote its record again after its end.
  { pk: "CONN#old", sk: "META", expiresAt },
  // The gateway never saw its end.
  { pk: "CONN#unheard", sk: "META", expiresAt },
  { pk: "S#agent:main:a", sk: "META" },
  { pk: "S#agent:main:a", sk: "R#run#0#call", expiresAt },
];
const found = (...items: Record<string, unknown>[]) =>
  findLeftovers({ items: [...rest, ...items], schedules: [] }, living);

it("finds nothing if only live and expiring items are stored", () => {
  expect(found()).toEqual([]);
});

it.each([
  ["a connection that has ended", { pk: "CONN#old", sk: "META", peerId: "c", expiresAt }],
  ["a connection that never expires", { pk: "CONN#old", sk: "META" }],
  [
    "a peer on a connection that is not its own",
    { pk: "PEER#client", sk: "c", connectionId: "old", expiresAt },
  ],
  ["a peer that nobody knows", { pk: "PEER#node", sk: "n", connectionId: "old", expiresAt }],
  ["a request that nobody answers", { pk: "DEFER#n", sk: "call", expiresAt }],
  ["a tool result that never expires", { pk: "S#agent:main:a", sk: "R#run#0#other" }],
  ["a receipt that never expires", { pk: "RX#telegram#default#1", sk: "RECEIPT" }],
  ["a session that is listed as due but idle", { pk: "S#agent:main:b", sk: "META", duePk: "DUE" }],
])("finds %s", (_what, item) => {
  expect(found(item)).toHaveLength(1);
});

it("finds a schedule that was not deleted", () => {
  expect(findLeftovers({ items: rest, schedules: ["tools-1"] }, living)).toHaveLength(1);
});
