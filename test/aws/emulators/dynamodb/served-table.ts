import { AwsError } from "../../../../local/http/aws-error.ts";
import type { JsonRecord } from "../../../../local/http/json.ts";
import type { ItemStore } from "../../../../local/items/item-store.ts";
import { checkKey } from "../../../../local/items/item-validation.ts";
import type { StoredItem } from "../../../../local/items/keyed-items.ts";
import type { Item, Key } from "../../../../shared/world/world.ts";
import { decodeItem, typeOf } from "./attribute-value.ts";
import { invalid } from "./dynamodb-error.ts";
import { textField } from "./request-fields.ts";

/** The one table that the door serves. */
export interface ServedTable {
  name: string;
  /** `arn:aws:dynamodb:…:table/{name}` */
  arn: string;
  store: ItemStore;
}

/** @throws AwsError ResourceNotFoundException unless the request names the table, or its ARN */
export function requireTable(served: ServedTable, input: JsonRecord): void {
  const name = textField(input, "TableName");
  if (name === undefined) {
    throw invalid("The parameter 'TableName' is required but was not present in the request");
  }
  requireTableName(served, name);
}

/** @throws AwsError ResourceNotFoundException */
export function requireTableName(served: ServedTable, name: string): void {
  if (name === served.name || name === served.arn) return;
  throw new AwsError(400, "ResourceNotFoundException", "Requested resource not found");
}

/** The key of a request. @throws AwsError, ValidationException when it is not exactly `pk` and `sk`, two texts */
export function decodeKey(value: unknown): Key {
  const { pk, sk, ...others } = decodeItem(value);
  if (typeof pk !== "string" || typeof sk !== "string" || Object.keys(others).length > 0) {
    throw invalid("The provided key element does not match the schema");
  }
  checkKey({ pk, sk });
  return { pk, sk };
}

/** An item to put. @throws AwsError ValidationException when a part of its key is missing or is no text */
export function decodeStoredItem(value: unknown): StoredItem {
  const item = decodeItem(value);
  return { ...item, pk: keyText(item, "pk"), sk: keyText(item, "sk") };
}

function keyText(item: Item, name: "pk" | "sk"): string {
  const value = item[name];
  if (typeof value === "string") return value;
  throw invalid(
    value === undefined
      ? `One or more parameter values were invalid: Missing the key ${name} in the item`
      : `One or more parameter values were invalid: Type mismatch for key ${name} expected: S actual: ${typeOf(value)}`,
  );
}

/**
 * Resolves when all changes of these partitions are durable: an answer must not show what a crash could undo.
 */
export async function settled(store: ItemStore, partitions: Iterable<string>): Promise<void> {
  await Promise.all([...new Set(partitions)].map((pk) => store.settling(pk)));
}
