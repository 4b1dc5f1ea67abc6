import { parseRecord } from "../http/json.ts";
import type { DynamoDBStore } from "./dynamodb-store.ts";

/** The attribute that holds an item's end of life, in epoch seconds. */
export const timeToLiveAttribute = "expiresAt";

/** CreateTable input of the application's table, the same keys and indexes that the stack gives it. */
export function tableSchema(name: string): object {
  return {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
      { AttributeName: "listPk", AttributeType: "S" },
      { AttributeName: "listSk", AttributeType: "N" },
      { AttributeName: "duePk", AttributeType: "S" },
      { AttributeName: "dueAt", AttributeType: "N" },
    ],
    KeySchema: keySchema("pk", "sk"),
    GlobalSecondaryIndexes: [
      {
        IndexName: "list",
        KeySchema: keySchema("listPk", "listSk"),
        Projection: {
          ProjectionType: "INCLUDE",
          NonKeyAttributes: ["sessionKey", "createdAt", "lastActiveAt", "label"],
        },
      },
      {
        IndexName: "due",
        KeySchema: keySchema("duePk", "dueAt"),
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  };
}

/** Creates the table unless it is there, and returns when it can be used. */
export async function ensureTable(store: DynamoDBStore, name: string): Promise<void> {
  const created = await store.call("CreateTable", JSON.stringify(tableSchema(name)));
  if (created.status !== 200 && !created.body.includes("ResourceInUseException")) {
    throw new Error(`cannot create the table ${name}: ${created.body}`);
  }
  for (;;) {
    const { body } = await store.call("DescribeTable", JSON.stringify({ TableName: name }));
    const table = parseRecord(body)?.Table as { TableStatus?: string } | undefined;
    if (table?.TableStatus === "ACTIVE") return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function keySchema(partition: string, sort: string): object[] {
  return [
    { AttributeName: partition, KeyType: "HASH" },
    { AttributeName: sort, KeyType: "RANGE" },
  ];
}
