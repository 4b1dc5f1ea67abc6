import type { JsonRecord } from "../../../../../local/http/json.ts";
import type { Parts } from "../../../../../local/items/document-path.ts";
import type { IndexName, StoredItem } from "../../../../../local/items/keyed-items.ts";
import { decodeItem, encodeItem } from "../attribute-value.ts";
import { invalid } from "../dynamodb-error.ts";
import { heldByIndex, isIndexName, keysOf } from "../dynamodb-schema.ts";
import type { Condition } from "../expression/condition-syntax.ts";
import { choiceField, flagField, numberField, textField } from "../request-fields.ts";
import { decodeKey } from "../served-table.ts";

/** What a query and a scan have in common. */
export interface PageRequest {
  index: IndexName | undefined;
  limit: number | undefined;
  isConsistent: boolean;
  /** Count the items, and return none. */
  countsOnly: boolean;
  filter: Condition | undefined;
  paths: Parts[] | undefined;
}

/** @throws AwsError ValidationException */
export function pageRequest(
  input: JsonRecord,
  filter: Condition | undefined,
  paths: Parts[] | undefined,
): PageRequest {
  const index = indexOf(input);
  const isConsistent = flagField(input, "ConsistentRead");
  if (isConsistent && index !== undefined) {
    throw invalid("Consistent reads are not supported on global secondary indexes");
  }
  const select = selectOf(input, index, paths);
  if (index !== undefined && paths !== undefined) requireProjected(index, paths);
  const limit = numberField(input, "Limit", 1);
  return { index, limit, isConsistent, countsOnly: select === "COUNT", filter, paths };
}

/** The row after which the page starts, undefined for the first page. @throws AwsError ValidationException */
export function startKeyOf(input: JsonRecord, index: IndexName | undefined): StoredItem | undefined {
  const given = input.ExclusiveStartKey;
  if (given === undefined || given === null) return undefined;
  if (index === undefined) return { ...decodeKey(given) };
  const row = decodeItem(given) as StoredItem;
  const { pk, sk } = keysOf(index);
  const { [pk]: partition, [sk]: at, ...key } = row;
  if (typeof partition !== "string" || typeof at !== "number") {
    throw invalid("The provided starting key is invalid");
  }
  decodeKey(encodeItem(key));
  return row;
}

function indexOf(input: JsonRecord): IndexName | undefined {
  const name = textField(input, "IndexName");
  if (name === undefined || isIndexName(name)) return name;
  throw invalid(`The table does not have the specified index: ${name}`);
}

function selectOf(input: JsonRecord, index: IndexName | undefined, paths: Parts[] | undefined): string {
  const select = choiceField(input, "Select", [
    paths === undefined ? "ALL_ATTRIBUTES" : "SPECIFIC_ATTRIBUTES",
    "SPECIFIC_ATTRIBUTES",
    "COUNT",
    "ALL_ATTRIBUTES",
    "ALL_PROJECTED_ATTRIBUTES",
  ]);
  if (paths !== undefined && select !== "SPECIFIC_ATTRIBUTES") {
    throw invalid(`Cannot specify the ProjectionExpression when choosing to get ${select}`);
  }
  if (paths === undefined && select === "SPECIFIC_ATTRIBUTES") {
    throw invalid("Must specify the ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES");
  }
  if (select === "ALL_PROJECTED_ATTRIBUTES" && index === undefined) {
    throw invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
  if (input.Select === "ALL_ATTRIBUTES" && index !== undefined) {
    throw invalid(
      `One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index ${index} because its projection type is not ALL`,
    );
  }
  return select;
}

function requireProjected(index: IndexName, paths: readonly Parts[]): void {
  const held = heldByIndex(index);
  const missing = paths.map(([name]) => String(name)).filter((name) => !held.includes(name));
  if (missing.length === 0) return;
  throw invalid(
    `One or more parameter values were invalid: Global secondary index ${index} does not project [${missing.join(", ")}]`,
  );
}
