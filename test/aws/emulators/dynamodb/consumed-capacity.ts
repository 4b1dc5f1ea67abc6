import { isDeepStrictEqual } from "node:util";
import type { JsonRecord } from "../../../../local/http/json.ts";
import { itemSize } from "../../../../local/items/item-validation.ts";
import {
  type IndexName,
  indexNames,
  indexRow,
  type StoredItem,
  tableIndexes,
} from "../../../../local/items/keyed-items.ts";
import { choiceField } from "./request-fields.ts";

/** Units of one request: those of the table, and those of each index that it has used. */
export interface Units {
  table: number;
  indexes?: Partial<Record<IndexName, number>>;
}

/** Read units: one for each 4 KB begun, half of that for eventually consistent reads. */
export function readUnits(bytes: number, isConsistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / 4096)) * (isConsistent ? 1 : 0.5);
}

/**
 * Write units: one for each KB begun of the larger of the two items. An index adds those of its row: for a row that is
 * new, gone or changed once, for a row whose key changes twice (it is deleted and put), and none for a row that stays.
 */
export function writeUnits(before: StoredItem | undefined, after: StoredItem | undefined): Units {
  const indexes: Units["indexes"] = {};
  for (const index of indexNames) {
    const units = indexUnits(index, before, after);
    if (units > 0) indexes[index] = units;
  }
  return { table: unitsOf(before, after), indexes };
}

/** The units of several writes of one request. */
export function sumOfUnits(all: readonly Units[]): Units {
  const indexes: Units["indexes"] = {};
  for (const index of indexNames) {
    const units = all.reduce((sum, one) => sum + (one.indexes?.[index] ?? 0), 0);
    if (units > 0) indexes[index] = units;
  }
  return { table: all.reduce((sum, one) => sum + one.table, 0), indexes };
}

/** ConsumedCapacity of an answer; undefined unless the request asks for it by ReturnConsumedCapacity. */
export function consumedCapacity(input: JsonRecord, table: string, { table: units, indexes = {} }: Units) {
  const detail = choiceField(input, "ReturnConsumedCapacity", ["NONE", "TOTAL", "INDEXES"]);
  if (detail === "NONE") return undefined;
  const used = Object.entries(indexes);
  const total = used.reduce((sum, [, ofIndex]) => sum + ofIndex, units);
  if (detail === "TOTAL") return { TableName: table, CapacityUnits: total };
  const ofIndexes = used.map(([name, CapacityUnits]) => [name, { CapacityUnits }]);
  return {
    TableName: table,
    CapacityUnits: total,
    Table: { CapacityUnits: units },
    GlobalSecondaryIndexes: used.length > 0 ? Object.fromEntries(ofIndexes) : undefined,
  };
}

function indexUnits(index: IndexName, before: StoredItem | undefined, after: StoredItem | undefined): number {
  const [old, row] = [indexRow(index, before), indexRow(index, after)];
  if (old === undefined && row === undefined) return 0;
  if (old === undefined || row === undefined) return unitsOf(old, row);
  if (!isSameKey(index, old, row)) return unitsOf(old, undefined) + unitsOf(undefined, row);
  return isDeepStrictEqual(old, row) ? 0 : unitsOf(old, row);
}

function isSameKey(index: IndexName, a: StoredItem, b: StoredItem): boolean {
  const { pk, sk } = tableIndexes[index];
  return a[pk] === b[pk] && a[sk] === b[sk];
}

function unitsOf(before: StoredItem | undefined, after: StoredItem | undefined): number {
  const bytes = Math.max(before ? itemSize(before) : 0, after ? itemSize(after) : 0);
  return Math.max(1, Math.ceil(bytes / 1024));
}
