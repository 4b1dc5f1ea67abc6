import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Random } from "../../../support/random.ts";
import { bindingsOf, randomCondition, randomProjection, randomUpdate } from "./random-expressions.ts";

/** One request, as the SDK's command of that name takes it, without the table. */
export interface Request {
  operation: "GetItem" | "PutItem" | "UpdateItem" | "DeleteItem" | "Query" | "Scan";
  input: Record<string, unknown>;
}

type Attributes = Record<string, AttributeValue>;

const partitions = ["p", "q"];
const sortKeys = ["a", "a1", "b", "c"];

export function randomRequest(random: Random): Request {
  const shape = random.integer(12);
  if (shape < 3) return { operation: "PutItem", input: randomPut(random) };
  if (shape < 7) return { operation: "UpdateItem", input: randomUpdateInput(random) };
  if (shape === 7)
    return { operation: "DeleteItem", input: { Key: randomKey(random), ...conditional(random) } };
  if (shape === 8) return { operation: "GetItem", input: randomGet(random) };
  return shape === 11
    ? { operation: "Scan", input: randomScan(random) }
    : { operation: "Query", input: randomQuery(random) };
}

function randomKey(random: Random): Attributes {
  if (random.integer(40) === 0) {
    return random.pick<Attributes>([
      { pk: { S: "p" } },
      { pk: { S: "p" }, sk: { N: "1" } },
      { pk: { S: "" }, sk: { S: "a" } },
    ]);
  }
  return { pk: { S: random.pick(partitions) }, sk: { S: random.pick(sortKeys) } };
}

function randomItem(random: Random): Attributes {
  const optional: Attributes = {
    n: { N: random.pick(["1", "2.5", "-3", "10", "100"]) },
    m: { N: random.pick(["1", "7"]) },
    words: { S: random.pick(["a", "ab", "abc", "b"]) },
    tally: { N: "5" },
    flag: { BOOL: true },
    nothing: { NULL: true },
    elems: {
      L: random.pick<AttributeValue[]>([
        [],
        [{ S: "a" }],
        [{ N: "1" }, { M: { x: { S: "ab" } } }, { S: "b" }],
      ]),
    },
    box: {
      M: random.pick<Attributes>([
        {},
        { x: { N: "1" } },
        { y: { S: "a" }, deep: { M: { z: { N: "0.5" } } } },
      ]),
    },
    "odd.name": random.pick<AttributeValue>([{ S: "a" }, { M: { x: { N: "10" } } }]),
    duePk: { S: random.pick(["D", "E"]) },
    label: { S: "label" },
  };
  const kept = Object.entries(optional).filter(() => random.integer(3) > 0);
  return { ...randomKey(random), ...Object.fromEntries(kept) };
}

/** The index's number follows from the key, so that no two rows have the same. */
function randomPut(random: Random): Record<string, unknown> {
  const item = randomItem(random);
  const at = partitions.indexOf(item.pk?.S ?? "") * 10 + sortKeys.indexOf(item.sk?.S ?? "");
  const dueAt: AttributeValue = random.integer(30) === 0 ? { S: "soon" } : { N: String(at) };
  const Item = random.integer(3) === 0 ? item : { ...item, dueAt };
  return { Item, ReturnValues: random.pick(["NONE", "ALL_OLD", undefined]), ...conditional(random) };
}

function randomUpdateInput(random: Random): Record<string, unknown> {
  const UpdateExpression = randomUpdate(random);
  const condition = random.integer(3) === 0 ? randomCondition(random, 1) : undefined;
  const ReturnValues = random.pick(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
  const bound = bind(random, UpdateExpression, condition);
  return { Key: randomKey(random), UpdateExpression, ConditionExpression: condition, ReturnValues, ...bound };
}

function conditional(random: Random): Record<string, unknown> {
  if (random.integer(3) > 0) return {};
  const ConditionExpression = randomCondition(random);
  return { ConditionExpression, ...bind(random, ConditionExpression) };
}

function randomGet(random: Random): Record<string, unknown> {
  const projection = random.integer(2) === 0 ? randomProjection(random) : undefined;
  const Key = randomKey(random);
  const { ExpressionAttributeNames } = bind(random, projection);
  return { Key, ProjectionExpression: projection, ExpressionAttributeNames };
}

function randomScan(random: Random): Record<string, unknown> {
  const FilterExpression = randomCondition(random);
  return { FilterExpression, ...bind(random, FilterExpression) };
}

function randomQuery(random: Random): Record<string, unknown> {
  const isIndex = random.integer(3) === 0;
  const keys = isIndex ? { pk: "duePk", sk: "dueAt" } : { pk: "pk", sk: "sk" };
  const low: AttributeValue = isIndex ? { N: String(random.integer(14)) } : { S: random.pick(sortKeys) };
  const high: AttributeValue = isIndex ? { N: String(random.integer(14)) } : { S: random.pick(sortKeys) };
  const isWrong = random.integer(10) === 0;
  const onSort = random.pick(isWrong ? wrongSortConditions : sortConditions).replace("sk", keys.sk);
  const KeyConditionExpression = `${keys.pk} = :pk${onSort === "" ? "" : ` AND ${onSort}`}`;
  const filter = random.integer(3) === 0 ? randomCondition(random, 1) : undefined;
  const { ExpressionAttributeNames, ExpressionAttributeValues } = bind(random, filter);
  const bounds = { ":low": low, ":high": high };
  const used = Object.entries(bounds).filter(([key]) => onSort.includes(key));
  return {
    IndexName: isIndex ? "due" : undefined,
    KeyConditionExpression,
    FilterExpression: filter,
    ExpressionAttributeNames,
    ExpressionAttributeValues: {
      ...ExpressionAttributeValues,
      ":pk": { S: random.pick(isIndex ? ["D", "E", "F"] : [...partitions, "absentee"]) },
      ...Object.fromEntries(used),
    },
    ScanIndexForward: random.pick([true, false, undefined]),
    Limit: random.pick([undefined, 1, 2, 10]),
    Select: random.pick([undefined, undefined, "COUNT"]),
    ConsistentRead: random.pick([undefined, false, !isIndex, random.integer(10) === 0]),
  };
}

const sortConditions = [
  "",
  "sk = :low",
  "sk < :low",
  "sk <= :low",
  "sk > :low",
  "sk >= :low",
  ":low < sk",
  "sk BETWEEN :low AND :high",
  "begins_with(sk, :low)",
];

const wrongSortConditions = ["sk <> :low", "sk IN (:low)", "size(sk) = :low", "stray = :low"];

/** The definitions that the expressions use; now and then one that they do not. */
function bind(random: Random, ...expressions: (string | undefined)[]) {
  const { names, values } = bindingsOf(...expressions);
  const given = random.integer(40) === 0 ? { ...values, ":unused": { N: "1" } } : values;
  return {
    ExpressionAttributeNames: Object.keys(names).length > 0 ? names : undefined,
    ExpressionAttributeValues: Object.keys(given).length > 0 ? given : undefined,
  };
}
