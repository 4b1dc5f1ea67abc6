import type { Item } from "../../shared/world/world.ts";
import type { JsonRecord } from "../http/json.ts";
import { itemSize } from "../items/item-validation.ts";
import { choiceField } from "./request-fields.ts";

/** Read units: one for each 4 KB begun, half of that for eventually consistent reads. */
export function readUnits(bytes: number, isConsistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / 4096)) * (isConsistent ? 1 : 0.5);
}

/** Write units of the item alone, without its index rows: one for each KB begun of the larger of the two. */
export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  const bytes = Math.max(before ? itemSize(before) : 0, after ? itemSize(after) : 0);
  return Math.max(1, Math.ceil(bytes / 1024));
}

/** ConsumedCapacity of an answer; undefined unless the request asks for it by ReturnConsumedCapacity. */
export function consumedCapacity(input: JsonRecord, table: string, units: number) {
  const detail = choiceField(input, "ReturnConsumedCapacity", ["NONE", "TOTAL", "INDEXES"]);
  if (detail === "NONE") return undefined;
  const Table = detail === "INDEXES" ? { CapacityUnits: units } : undefined;
  return { TableName: table, CapacityUnits: units, Table };
}
