import type { JsonRecord } from "../../../../../local/http/json.ts";
import { checkItem, itemSize } from "../../../../../local/items/item-validation.ts";
import type { StoredItem } from "../../../../../local/items/keyed-items.ts";
import type { Key } from "../../../../../shared/world/world.ts";
import { type AttributeMap, encodeItem } from "../attribute-value.ts";
import { consumedCapacity, readUnits, sumOfUnits, writeUnits } from "../consumed-capacity.ts";
import { invalid } from "../dynamodb-error.ts";
import { project } from "../expression/projection.ts";
import { projectionOf } from "../expression/request-expressions.ts";
import { Substitutions } from "../expression/substitutions.ts";
import { asRecord, flagField, refuseLegacyFields, requiredList, requiredRecord } from "../request-fields.ts";
import { decodeKey, decodeStoredItem, requireTableName, type ServedTable, settled } from "../served-table.ts";

const maxGets = 100;
const maxWrites = 25;
const maxAnswerBytes = 16 * 1024 * 1024;

/** One write of a batch: an item to put, or the key of one to delete. */
type BatchWrite = { key: Key; item: StoredItem | undefined };

/** BatchGetItem. Keys whose items no longer fit into 16 MB come back as UnprocessedKeys. */
export async function batchGetItem(served: ServedTable, input: JsonRecord): Promise<object> {
  const [name, given] = requestOf(served, input);
  const request = asRecord(given);
  refuseLegacyFields(request);
  const substitutions = new Substitutions(request);
  const paths = projectionOf(request, substitutions);
  substitutions.requireAllUsed();
  const isConsistent = flagField(request, "ConsistentRead");
  const keys = requiredList(request, "Keys").map(decodeKey);
  requireCount(keys.length, maxGets, "Keys");
  requireDifferent(keys);
  const found = keys.flatMap((key) => served.store.get(key) ?? []);
  await settled(
    served.store,
    keys.map(({ pk }) => pk),
  );
  let bytes = 0;
  const isFitting = (item: StoredItem) => {
    bytes += itemSize(item);
    return bytes <= maxAnswerBytes;
  };
  const items = found.filter(isFitting);
  const table = items.reduce((sum, item) => sum + readUnits(itemSize(item), isConsistent), 0);
  const capacity = consumedCapacity(input, served.name, { table });
  return {
    Responses: { [name]: items.map((item) => encodeItem(paths ? project(item, paths) : item)) },
    UnprocessedKeys: unprocessed(name, request, found.slice(items.length)),
    ConsumedCapacity: capacity && [capacity],
  };
}

/** BatchWriteItem: every write by itself. All requests are checked before the first write. */
export async function batchWriteItem(served: ServedTable, input: JsonRecord): Promise<object> {
  const [, given] = requestOf(served, input);
  if (!Array.isArray(given)) throw invalid("The batch write request list for a table must be a list");
  requireCount(given.length, maxWrites, "RequestItems");
  const writes = given.map((one) => decodeWrite(asRecord(one)));
  requireDifferent(writes.map(({ key }) => key));
  const before = writes.map(({ key }) => served.store.get(key));
  await Promise.all(writes.map(({ key, item }) => served.store.write(key, () => item)));
  const units = sumOfUnits(writes.map(({ item }, n) => writeUnits(before[n], item)));
  const capacity = consumedCapacity(input, served.name, units);
  return { UnprocessedItems: {}, ConsumedCapacity: capacity && [capacity] };
}

/** The one table's name and requests, as every batch can only have that one. */
function requestOf(served: ServedTable, input: JsonRecord): [string, unknown] {
  const [entry, ...others] = Object.entries(requiredRecord(input, "RequestItems"));
  if (entry === undefined) {
    throw invalid(
      "1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
  }
  for (const [name] of [entry, ...others]) requireTableName(served, name);
  if (others.length > 0) throw invalid("The batch names one table twice");
  return entry;
}

function decodeWrite({ PutRequest, DeleteRequest }: JsonRecord): BatchWrite {
  if ((PutRequest === undefined) === (DeleteRequest === undefined)) {
    throw invalid(
      "Supplied AttributeValue has more than one datatypes set or is empty, must contain exactly one of PutRequest and DeleteRequest",
    );
  }
  if (PutRequest === undefined) {
    return { key: decodeKey(requiredRecord(asRecord(DeleteRequest), "Key")), item: undefined };
  }
  const item = decodeStoredItem(requiredRecord(asRecord(PutRequest), "Item"));
  checkItem(item);
  return { key: { pk: item.pk, sk: item.sk }, item };
}

function requireCount(count: number, most: number, name: string): void {
  if (count === 0) throw invalid(`${name}: Member must have length greater than or equal to 1`);
  if (count > most) throw invalid(`Too many items requested for the batch: at most ${most}`);
}

function requireDifferent(keys: readonly Key[]): void {
  if (new Set(keys.map(({ pk, sk }) => JSON.stringify([pk, sk]))).size === keys.length) return;
  throw invalid("Provided list of item keys contains duplicates");
}

/** The unprocessed rest of a request to a table, in the form of the request. */
function unprocessed(name: string, request: JsonRecord, items: readonly StoredItem[]): object {
  if (items.length === 0) return {};
  const Keys: AttributeMap[] = items.map(({ pk, sk }) => encodeItem({ pk, sk }));
  return { [name]: { ...request, Keys } };
}
