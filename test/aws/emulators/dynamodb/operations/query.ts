import type { JsonRecord } from "../../../../../local/http/json.ts";
import type { IndexName, StoredItem } from "../../../../../local/items/keyed-items.ts";
import { invalid } from "../dynamodb-error.ts";
import { keysOf, type QueriedKeys } from "../dynamodb-schema.ts";
import { isTrue } from "../expression/condition-outcome.ts";
import { type Condition, pathsOf } from "../expression/condition-syntax.ts";
import { type KeyCondition, keyConditionOf } from "../expression/key-condition.ts";
import { conditionOf, projectionOf } from "../expression/request-expressions.ts";
import { Substitutions } from "../expression/substitutions.ts";
import type { ServedTable } from "../served-table.ts";
import { answerPage } from "./page.ts";
import { pageRequest, startKeyOf } from "./page-request.ts";

/** Where a query reads. */
interface Stretch {
  index: IndexName | undefined;
  condition: KeyCondition;
  start: StoredItem | undefined;
  descending: boolean;
}

export async function query(served: ServedTable, input: JsonRecord): Promise<object> {
  const substitutions = new Substitutions(input);
  const keyCondition = conditionOf(input, "KeyConditionExpression", substitutions);
  const filter = conditionOf(input, "FilterExpression", substitutions);
  const paths = projectionOf(input, substitutions);
  substitutions.requireAllUsed();
  if (keyCondition === undefined) {
    throw invalid("The KeyConditionExpression parameter must be specified in the request");
  }
  const request = pageRequest(input, filter, paths);
  const { index } = request;
  const keys = keysOf(index);
  if (filter !== undefined) refuseKeyFilter(filter, keys);
  const condition = keyConditionOf(keyCondition, keys);
  const start = startKeyOf(input, index);
  if (start !== undefined) requireInside(start, keyCondition, condition, keys);
  const stretch = { index, condition, start, descending: input.ScanIndexForward === false };
  // The bounds of `<` and `>` let the item at the bound through.
  const rows = filtered(rowsOf(served, stretch), (item) => isTrue(keyCondition, item));
  return answerPage(served, input, request, rows);
}

function rowsOf({ store }: ServedTable, stretch: Stretch): Iterable<StoredItem> {
  const { index, condition, start, descending } = stretch;
  const { partition: pk, bounds } = condition;
  if (index === undefined) {
    const { prefix, from, to } = bounds;
    return store.range({ pk, prefix, from: text(from), to: text(to), after: start?.sk, descending });
  }
  const { sk } = keysOf(index);
  const after = start && { pk: start.pk, sk: start.sk, at: Number(start[sk]) };
  return store.indexRange({
    index,
    pk,
    from: number(bounds.from),
    upTo: number(bounds.to),
    after,
    descending,
  });
}

function* filtered(rows: Iterable<StoredItem>, keep: (row: StoredItem) => boolean): Generator<StoredItem> {
  for (const row of rows) if (keep(row)) yield row;
}

function refuseKeyFilter(filter: Condition, keys: QueriedKeys): void {
  const [name] = pathsOf(filter).find(([head]) => head === keys.pk || head === keys.sk) ?? [];
  if (name === undefined) return;
  throw invalid(
    `Filter Expression can only contain non-primary key attributes: Primary key attribute: ${name}`,
  );
}

function requireInside(
  start: StoredItem,
  keyCondition: Condition,
  { partition }: KeyCondition,
  keys: QueriedKeys,
): void {
  if (start[keys.pk] !== partition) {
    throw invalid("The provided starting key is outside query boundaries based on provided conditions");
  }
  if (isTrue(keyCondition, start)) return;
  throw invalid("The provided starting key does not match the range key predicate");
}

function text(bound: unknown): string | undefined {
  return bound === undefined ? undefined : String(bound);
}

function number(bound: unknown): number | undefined {
  return bound === undefined ? undefined : Number(bound);
}
