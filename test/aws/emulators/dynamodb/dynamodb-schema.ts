import { type IndexName, tableIndexes } from "../../../../local/items/keyed-items.ts";

/** The attributes that a query is answered by. */
export interface QueriedKeys {
  pk: string;
  sk: string;
  /** The sort key's type; partition keys are texts. */
  sortType: "S" | "N";
}

/** The table's own keys, or those of one of its indexes. */
export function keysOf(index: IndexName | undefined): QueriedKeys {
  if (index === undefined) return { pk: "pk", sk: "sk", sortType: "S" };
  const { pk, sk } = tableIndexes[index];
  return { pk, sk, sortType: "N" };
}

export function isIndexName(name: string): name is IndexName {
  return Object.hasOwn(tableIndexes, name);
}

const indexNames = Object.keys(tableIndexes).filter(isIndexName);

const keyTypes = new Map<string, "S" | "N">(
  [undefined, ...indexNames].flatMap((index) => {
    const { pk, sk, sortType } = keysOf(index);
    return [[pk, "S"] as const, [sk, sortType] as const];
  }),
);

/** The type of an attribute that is part of a key, of the table or of an index; undefined for every other. */
export function keyAttributeType(name: string): "S" | "N" | undefined {
  return keyTypes.get(name);
}

/** The attributes that an index holds of an item. */
export function heldByIndex(index: IndexName): readonly string[] {
  const { pk, sk, also } = tableIndexes[index];
  return ["pk", "sk", pk, sk, ...also];
}

/** CreateTable input of the application's table, the same keys and indexes that the stack gives it. */
export function tableSchema(name: string) {
  return {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [...keyTypes].map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
    KeySchema: keySchema(undefined),
    GlobalSecondaryIndexes: indexNames.map((index) => ({
      IndexName: index,
      KeySchema: keySchema(index),
      Projection: indexProjection(index),
    })),
  } as const;
}

function keySchema(index: IndexName | undefined) {
  const { pk, sk } = keysOf(index);
  return [
    { AttributeName: pk, KeyType: "HASH" as const },
    { AttributeName: sk, KeyType: "RANGE" as const },
  ];
}

function indexProjection(index: IndexName) {
  const also: readonly string[] = tableIndexes[index].also;
  return also.length === 0
    ? { ProjectionType: "KEYS_ONLY" as const }
    : { ProjectionType: "INCLUDE" as const, NonKeyAttributes: [...also] };
}
