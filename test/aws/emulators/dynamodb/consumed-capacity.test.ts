import {
  BatchWriteItemCommand,
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../../../local/items/item-store.ts";
import { clientConfig } from "../support.ts";
import { startDynamoDB } from "./dynamodb.ts";

const TableName = "gsv-test";
const asked = { TableName, ReturnConsumedCapacity: "INDEXES" } as const;
let dynamodb: Endpoint;
let client: DynamoDBClient;

beforeAll(async () => {
  dynamodb = await startDynamoDB({ store: createMemoryStore(), table: TableName });
  client = new DynamoDBClient(clientConfig(dynamodb.url));
});
afterAll(() => dynamodb.close());

const key = (pk: string) => ({ pk: { S: pk }, sk: { S: "META" } });
const session = (pk: string, dueAt: number, text = "") => ({
  ...key(pk),
  duePk: { S: "DUE" },
  dueAt: { N: String(dueAt) },
  text: { S: text },
});
const put = async (Item: ReturnType<typeof session>) =>
  (await client.send(new PutItemCommand({ ...asked, Item }))).ConsumedCapacity;
const update = async (pk: string, UpdateExpression: string, value?: string) =>
  (
    await client.send(
      new UpdateItemCommand({
        ...asked,
        Key: key(pk),
        UpdateExpression,
        ...(value === undefined ? {} : { ExpressionAttributeValues: { ":v": { N: value } } }),
      }),
    )
  ).ConsumedCapacity;
/** Units in all, of the table, and of the index of what is due. */
const units = (total: number, table: number, due: number) => ({
  CapacityUnits: total,
  Table: { CapacityUnits: table },
  ...(due > 0 ? { GlobalSecondaryIndexes: { due: { CapacityUnits: due } } } : {}),
});

describe("the consumed capacity of a write", () => {
  it("counts a row that is new in an index, and by its own size", async () => {
    expect(await put(session("new", 1, "x".repeat(3000)))).toMatchObject(units(4, 3, 1));
  });

  it("counts a row whose key changes twice, and one that stays as it is not at all", async () => {
    await put(session("moved", 1));
    expect(await update("moved", "SET dueAt = :v", "2")).toMatchObject(units(3, 1, 2));
    const stays = await update("moved", "SET epoch = :v", "7");
    expect(stays).toMatchObject(units(1, 1, 0));
    expect(stays?.GlobalSecondaryIndexes).toBeUndefined();
  });

  it("counts a row that leaves its index", async () => {
    await put(session("rests", 1));
    expect(await update("rests", "REMOVE dueAt")).toMatchObject(units(2, 1, 1));
    await put(session("gone", 1));
    const deleted = await client.send(new DeleteItemCommand({ ...asked, Key: key("gone") }));
    expect(deleted.ConsumedCapacity).toMatchObject(units(2, 1, 1));
  });

  it("counts a changed attribute that an index holds once", async () => {
    const row = { listPk: { S: "SESSIONS" }, listSk: { N: "1" } };
    await put({ ...session("listed", 1), ...row });
    const labelled = await put({ ...session("listed", 1), ...row, ...{ label: { S: "trip" } } });
    expect(labelled).toMatchObject({
      CapacityUnits: 2,
      GlobalSecondaryIndexes: { list: { CapacityUnits: 1 } },
    });
  });

  it("is summed over a batch, and in TOTAL is one number", async () => {
    const RequestItems = {
      [TableName]: ["b1", "b2"].map((pk) => ({ PutRequest: { Item: session(pk, 1) } })),
    };
    const answer = await client.send(
      new BatchWriteItemCommand({ RequestItems, ReturnConsumedCapacity: "INDEXES" }),
    );
    expect(answer.ConsumedCapacity).toMatchObject([units(4, 2, 2)]);
    const total = await client.send(
      new PutItemCommand({ TableName, Item: session("t", 1), ReturnConsumedCapacity: "TOTAL" }),
    );
    expect(total.ConsumedCapacity).toEqual({ TableName, CapacityUnits: 2 });
  });
});

it("the consumed capacity of a query of an index is the index's", async () => {
  const answer = await client.send(
    new QueryCommand({
      ...asked,
      IndexName: "due",
      KeyConditionExpression: "duePk = :v",
      ExpressionAttributeValues: { ":v": { S: "DUE" } },
    }),
  );
  expect(answer.ConsumedCapacity).toMatchObject(units(0.5, 0, 0.5));
});
