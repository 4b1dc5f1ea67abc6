import type { JsonRecord } from "../../../../../local/http/json.ts";
import { checkItem, itemSize } from "../../../../../local/items/item-validation.ts";
import type { StoredItem } from "../../../../../local/items/keyed-items.ts";
import type { Item, Key } from "../../../../../shared/world/world.ts";
import { type AttributeType, encodeItem, typeOf } from "../attribute-value.ts";
import { consumedCapacity, readUnits, writeUnits } from "../consumed-capacity.ts";
import { ConditionalCheckFailed, invalid } from "../dynamodb-error.ts";
import { keyAttributeType } from "../dynamodb-schema.ts";
import { isTrue } from "../expression/condition-outcome.ts";
import type { Condition } from "../expression/condition-syntax.ts";
import { project } from "../expression/projection.ts";
import { actionsOf, conditionOf, projectionOf } from "../expression/request-expressions.ts";
import { Substitutions } from "../expression/substitutions.ts";
import { applyActions } from "../expression/update-outcome.ts";
import type { Action } from "../expression/update-syntax.ts";
import { choiceField, flagField, requiredRecord } from "../request-fields.ts";
import { decodeKey, decodeStoredItem, type ServedTable, settled } from "../served-table.ts";

/** What a write has found and left. */
interface Written {
  before: StoredItem | undefined;
  after: StoredItem | undefined;
}

export async function getItem({ store, name }: ServedTable, input: JsonRecord): Promise<object> {
  const substitutions = new Substitutions(input);
  const paths = projectionOf(input, substitutions);
  substitutions.requireAllUsed();
  const key = decodeKey(requiredRecord(input, "Key"));
  const found = store.get(key);
  await settled(store, [key.pk]);
  const table = readUnits(found ? itemSize(found) : 0, flagField(input, "ConsistentRead"));
  const item = found && (paths ? project(found, paths) : found);
  return { Item: item && encodeItem(item), ConsumedCapacity: consumedCapacity(input, name, { table }) };
}

export async function putItem(served: ServedTable, input: JsonRecord): Promise<object> {
  const returned = returnedByPutAndDelete(input);
  const condition = onlyCondition(input);
  const item = decodeStoredItem(requiredRecord(input, "Item"));
  checkItem(item);
  const written = await write(served, input, item, condition, () => item);
  return answer(served, input, written, returned === "ALL_OLD" ? written.before : undefined);
}

export async function deleteItem(served: ServedTable, input: JsonRecord): Promise<object> {
  const returned = returnedByPutAndDelete(input);
  const condition = onlyCondition(input);
  const key = decodeKey(requiredRecord(input, "Key"));
  const written = await write(served, input, key, condition, () => undefined);
  return answer(served, input, written, returned === "ALL_OLD" ? written.before : undefined);
}

export async function updateItem(served: ServedTable, input: JsonRecord): Promise<object> {
  const returned = choiceField(input, "ReturnValues", [
    "NONE",
    "ALL_OLD",
    "ALL_NEW",
    "UPDATED_OLD",
    "UPDATED_NEW",
  ]);
  const substitutions = new Substitutions(input);
  const actions = actionsOf(input, substitutions);
  const condition = conditionOf(input, "ConditionExpression", substitutions);
  substitutions.requireAllUsed();
  const key = decodeKey(requiredRecord(input, "Key"));
  refuseKeyChanges(actions);
  const written = await write(served, input, key, condition, (before) => ({
    ...applyActions(before ?? { ...key }, actions),
    ...key,
  }));
  const item = returned.endsWith("_OLD") ? written.before : written.after;
  if (returned === "NONE" || item === undefined) return answer(served, input, written, undefined);
  const paths = actions.map(({ path }) => path);
  return answer(served, input, written, returned.startsWith("UPDATED") ? project(item, paths) : item);
}

function returnedByPutAndDelete(input: JsonRecord): "NONE" | "ALL_OLD" {
  const returned = input.ReturnValues;
  if (["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"].includes(String(returned))) {
    throw invalid("ReturnValues can only be ALL_OLD or NONE");
  }
  return choiceField(input, "ReturnValues", ["NONE", "ALL_OLD"]);
}

function onlyCondition(input: JsonRecord): Condition | undefined {
  const substitutions = new Substitutions(input);
  const condition = conditionOf(input, "ConditionExpression", substitutions);
  substitutions.requireAllUsed();
  return condition;
}

/** Refuses actions that change the key, or that give an index's key attribute a `:value` of another type. */
function refuseKeyChanges(actions: readonly Action[]): void {
  for (const action of actions) {
    const name = String(action.path[0]);
    if (name === "pk" || name === "sk") {
      throw invalid(
        `One or more parameter values were invalid: Cannot update attribute ${name}. This attribute is part of the key`,
      );
    }
    const expected = keyAttributeType(name);
    const actual = typeWritten(action);
    if (expected === undefined || actual === undefined || actual === expected) continue;
    throw invalid(
      `One or more parameter values were invalid: Type mismatch for Index Key ${name} Expected: ${expected} Actual: ${actual}`,
    );
  }
}

/** The type that an action writes, where it follows from the request alone. */
function typeWritten(action: Action): AttributeType | undefined {
  if (action.kind === "add") return "N";
  return action.kind === "set" && action.formula.kind === "value" ? typeOf(action.formula.value) : undefined;
}

/** @throws ConditionalCheckFailed when the item does not meet the condition */
async function write(
  { store }: ServedTable,
  input: JsonRecord,
  key: Key,
  condition: Condition | undefined,
  change: (before: StoredItem | undefined) => StoredItem | undefined,
): Promise<Written> {
  const onFailure = choiceField(input, "ReturnValuesOnConditionCheckFailure", ["NONE", "ALL_OLD"]);
  let before: StoredItem | undefined;
  try {
    const after = await store.write(key, (found) => {
      before = found;
      if (condition === undefined || isTrue(condition, found ?? {})) return change(found);
      throw new ConditionalCheckFailed(
        found !== undefined && onFailure === "ALL_OLD" ? encodeItem(found) : undefined,
      );
    });
    return { before, after };
  } catch (error) {
    if (error instanceof ConditionalCheckFailed) await settled(store, [key.pk]);
    throw error;
  }
}

/** @param attributes what ReturnValues asks for; no attributes at all are left out */
function answer(
  served: ServedTable,
  input: JsonRecord,
  { before, after }: Written,
  attributes: Item | undefined,
): object {
  const isEmpty = attributes === undefined || Object.keys(attributes).length === 0;
  return {
    Attributes: isEmpty ? undefined : encodeItem(attributes),
    ConsumedCapacity: consumedCapacity(input, served.name, writeUnits(before, after)),
  };
}
