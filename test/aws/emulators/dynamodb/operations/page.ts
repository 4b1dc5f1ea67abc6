import type { JsonRecord } from "../../../../../local/http/json.ts";
import { itemSize } from "../../../../../local/items/item-validation.ts";
import { type IndexName, projected, type StoredItem } from "../../../../../local/items/keyed-items.ts";
import type { Item } from "../../../../../shared/world/world.ts";
import { encodeItem } from "../attribute-value.ts";
import { consumedCapacity, readUnits } from "../consumed-capacity.ts";
import { keysOf } from "../dynamodb-schema.ts";
import { isTrue } from "../expression/condition-outcome.ts";
import { project } from "../expression/projection.ts";
import { type ServedTable, settled } from "../served-table.ts";
import type { PageRequest } from "./page-request.ts";

const maxPageBytes = 1024 * 1024;

/**
 * Reads rows up to the limit or 1 MB and answers with those that pass the filter.
 * @param rows in order, from the start of the page on
 */
export async function answerPage(
  served: ServedTable,
  input: JsonRecord,
  request: PageRequest,
  rows: Iterable<StoredItem>,
): Promise<object> {
  const { index, limit = Number.POSITIVE_INFINITY, filter, paths } = request;
  const read: StoredItem[] = [];
  let bytes = 0;
  for (const row of rows) {
    const item = index === undefined ? row : projected(index, row);
    read.push(item);
    bytes += itemSize(item);
    if (read.length >= limit || bytes >= maxPageBytes) break;
  }
  await settled(
    served.store,
    read.map(({ pk }) => pk),
  );
  const last = read.length >= limit || bytes >= maxPageBytes ? read.at(-1) : undefined;
  const found: Item[] = filter ? read.filter((item) => isTrue(filter, item)) : read;
  const items = paths ? found.map((item) => project(item, paths)) : found;
  const units = readUnits(bytes, request.isConsistent);
  return {
    Items: request.countsOnly ? undefined : items.map(encodeItem),
    Count: items.length,
    ScannedCount: read.length,
    LastEvaluatedKey: last && encodeItem(rowKey(last, index)),
    ConsumedCapacity: consumedCapacity(
      input,
      served.name,
      index === undefined ? { table: units } : { table: 0, indexes: { [index]: units } },
    ),
  };
}

function rowKey(row: StoredItem, index: IndexName | undefined): Item {
  const { pk, sk } = keysOf(index);
  return project(
    row,
    [...new Set(["pk", "sk", pk, sk])].map((name) => [name]),
  );
}
