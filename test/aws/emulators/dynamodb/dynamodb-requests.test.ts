import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  CreateTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../../../local/items/item-store.ts";
import type { StoredItem } from "../../../../local/items/keyed-items.ts";
import { clientConfig } from "../support.ts";
import { startDynamoDB } from "./dynamodb.ts";

const TableName = "gsv-test";
const store = createMemoryStore();
let dynamodb: Endpoint;
let client: DynamoDBClient;

beforeAll(async () => {
  dynamodb = await startDynamoDB({ store, table: TableName });
  client = new DynamoDBClient({ ...clientConfig(dynamodb.url), maxAttempts: 1 });
});
afterAll(() => dynamodb.close());
beforeEach(async () => {
  for (const { pk, sk } of [...store.all()]) await store.write({ pk, sk }, () => undefined);
});

const put = (item: StoredItem) => store.write(item, () => item);
const Key = { pk: { S: "p" }, sk: { S: "a" } };
const item = () => store.get({ pk: "p", sk: "a" });
const refused = (sent: Promise<unknown>, message: string | RegExp) =>
  expect(sent).rejects.toMatchObject({
    name: "ValidationException",
    message: expect.stringMatching(message),
  });
const update = (input: Partial<UpdateItemCommandInput>) =>
  client.send(new UpdateItemCommand({ TableName, Key, ...input }));
const setTo = (N: string) =>
  update({ UpdateExpression: "SET n = :n", ExpressionAttributeValues: { ":n": { N } } });

describe("numbers", () => {
  it("are kept exactly where JavaScript has them exactly, and refused where it has not", async () => {
    await setTo("0012.50");
    expect(item()?.n).toBe(12.5);
    await setTo("1E3");
    expect(item()?.n).toBe(1000);
    for (const wrong of [
      "12345678901234567891",
      "0.1234567890123456789",
      "1e126",
      "1e-131",
      "abc",
      "",
      "NaN",
    ])
      await refused(setTo(wrong), /exactly|magnitude|numeric/);
    expect(item()?.n).toBe(1000);
  });

  it("are added as decimals", async () => {
    await setTo("0.1");
    const values = { ":more": { N: "0.2" } };
    const added = await update({
      UpdateExpression: "SET n = n + :more",
      ExpressionAttributeValues: values,
      ReturnValues: "UPDATED_NEW",
    });
    expect(added.Attributes).toEqual({ n: { N: "0.3" } });
  });
});

describe("what the local table does not keep", () => {
  it("is refused by name: binary values and sets", async () => {
    for (const value of [
      { B: new Uint8Array(1) },
      { SS: ["a"] },
      { NS: ["1"] },
      { BS: [new Uint8Array(1)] },
    ]) {
      const sent = client.send(new PutItemCommand({ TableName, Item: { ...Key, value: value as never } }));
      await refused(sent, /keeps S, N, BOOL, NULL, L and M, not (B|SS|NS|BS)$/);
    }
  });

  it("is refused by name: parameters from before expressions, operations, other tables", async () => {
    await refused(update({ AttributeUpdates: { n: { Value: { N: "1" } } } }), /AttributeUpdates/);
    const transaction = client.send(
      new TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName, Item: Key } }] }),
    );
    await expect(transaction).rejects.toMatchObject({ name: "UnknownOperationException" });
    const elsewhere = client.send(new GetItemCommand({ TableName: "other", Key }));
    await expect(elsewhere).rejects.toMatchObject({ name: "ResourceNotFoundException" });
    const create = (name: string) => client.send(new CreateTableCommand({ TableName: name } as never));
    await expect(create(TableName)).rejects.toMatchObject({ name: "ResourceInUseException" });
    await refused(create("other"), /has one table, gsv-test/);
  });
});

describe("a condition that does not hold", () => {
  it("returns the item when asked to", async () => {
    await put({ pk: "p", sk: "a", n: 1 });
    const command = new PutItemCommand({
      TableName,
      Item: Key,
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    const error = await client.send(command).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConditionalCheckFailedException);
    expect((error as ConditionalCheckFailedException).Item).toEqual({ ...Key, n: { N: "1" } });
  });
});

describe("lists and maps", () => {
  it("are equal when all that is in them is", async () => {
    await put({ pk: "p", sk: "a", elems: [1, { x: [true] }] });
    const condition = (L: object[]) =>
      update({ ConditionExpression: "elems = :l", ExpressionAttributeValues: { ":l": { L: L as never } } });
    await condition([{ N: "1" }, { M: { x: { L: [{ BOOL: true }] } } }]);
    await expect(condition([{ N: "1" }, { M: { x: { L: [{ BOOL: false }] } } }])).rejects.toThrow(
      "conditional",
    );
  });

  it("lose and get several elements by the indexes that they had", async () => {
    await put({ pk: "p", sk: "a", elems: ["a", "b", "c", "d"] });
    await update({
      UpdateExpression: "REMOVE elems[0], elems[2] SET elems[9] = :z, elems[8] = :y, elems[1] = :b",
      ExpressionAttributeValues: { ":z": { S: "z" }, ":y": { S: "y" }, ":b": { S: "B" } },
    });
    expect(item()?.elems).toEqual(["B", "d", "y", "z"]);
  });
});

describe("a query", () => {
  const page = (input: object) =>
    client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": { S: "p" } },
        ...input,
      }),
    );

  it("goes through a partition page by page, in both directions", async () => {
    for (const sk of ["a", "b", "c", "d", "e"]) await put({ pk: "p", sk });
    for (const ScanIndexForward of [true, false]) {
      const seen: (string | undefined)[] = [];
      let ExclusiveStartKey: Record<string, never> | undefined;
      do {
        const found = await page({ Limit: 2, ScanIndexForward, ExclusiveStartKey });
        seen.push(...(found.Items ?? []).map(({ sk }) => sk?.S));
        ExclusiveStartKey = found.LastEvaluatedKey as typeof ExclusiveStartKey;
      } while (ExclusiveStartKey);
      expect(seen.join("")).toBe(ScanIndexForward ? "abcde" : "edcba");
    }
  });

  it("ends a page at 1 MB", async () => {
    for (const sk of ["a", "b", "c", "d", "e"]) await put({ pk: "p", sk, words: "x".repeat(300_000) });
    const found = await page({ Select: "COUNT" });
    expect(found).toMatchObject({ Count: 4, LastEvaluatedKey: { pk: { S: "p" }, sk: { S: "d" } } });
    expect(found.Items).toBeUndefined();
  });

  it("goes on in an index among rows with the same number", async () => {
    for (const sk of ["a", "b", "c"]) await put({ pk: "p", sk, duePk: "D", dueAt: 5 });
    const index = {
      IndexName: "due",
      KeyConditionExpression: "duePk = :p AND dueAt <= :at",
      ExpressionAttributeValues: { ":p": { S: "D" }, ":at": { N: "5" } },
    };
    const first = await page({ ...index, Limit: 1 });
    const rest = await page({ ...index, ExclusiveStartKey: first.LastEvaluatedKey });
    expect([...(first.Items ?? []), ...(rest.Items ?? [])].map(({ sk }) => sk?.S)).toEqual(["a", "b", "c"]);
    await refused(page({ ...index, ExclusiveStartKey: Key }), /starting key/);
    await expect(page({ ...index, Limit: 2 ** 31 })).rejects.toThrow(/Limit cannot be converted/);
    await refused(page({ ...index, ConsistentRead: true }), /Consistent reads/);
    await refused(page({ ...index, ProjectionExpression: "pk, words" }), /does not project \[words\]/);
  });

  it("is refused by a start outside of it, a filter on its keys, and an empty key", async () => {
    await refused(
      page({ ExclusiveStartKey: { pk: { S: "q" }, sk: { S: "a" } } }),
      /outside query boundaries/,
    );
    await refused(page({ FilterExpression: "sk > :p" }), /non-primary key attributes/);
    await refused(page({ ExpressionAttributeValues: { ":p": { S: "" } } }), /empty string value/);
  });
});

it("a scan reads every item once over its pages, and over its segments", async () => {
  const keys = Array.from({ length: 20 }, (_, n) => ({ pk: `p${n % 7}`, sk: `s${n}` }));
  for (const key of keys) await put(key);
  const read = async (input: object) => {
    const seen: string[] = [];
    let ExclusiveStartKey: Record<string, never> | undefined;
    do {
      const found = await client.send(new ScanCommand({ TableName, Limit: 3, ExclusiveStartKey, ...input }));
      seen.push(...(found.Items ?? []).map(({ sk }) => String(sk?.S)));
      ExclusiveStartKey = found.LastEvaluatedKey as typeof ExclusiveStartKey;
    } while (ExclusiveStartKey);
    return seen;
  };
  const all = keys.map(({ sk }) => sk).sort();
  expect((await read({})).sort()).toEqual(all);
  const segments = await Promise.all([0, 1, 2].map((Segment) => read({ Segment, TotalSegments: 3 })));
  expect(segments.flat().sort()).toEqual(all);
});

describe("a batch", () => {
  it("writes, deletes and reads several items", async () => {
    await put({ pk: "p", sk: "gone" });
    await client.send(
      new BatchWriteItemCommand({
        RequestItems: {
          [TableName]: [
            { PutRequest: { Item: { ...Key, n: { N: "1" } } } },
            { DeleteRequest: { Key: { pk: { S: "p" }, sk: { S: "gone" } } } },
          ],
        },
      }),
    );
    const Keys = ["a", "gone"].map((sk) => ({ pk: { S: "p" }, sk: { S: sk } }));
    const read = await client.send(new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys } } }));
    expect(read.Responses).toEqual({ [TableName]: [{ ...Key, n: { N: "1" } }] });
    expect(read.UnprocessedKeys).toEqual({});
  });

  it("is refused as a whole when it names an item twice, or is too long", async () => {
    const write = (sks: string[]) =>
      client.send(
        new BatchWriteItemCommand({
          RequestItems: {
            [TableName]: sks.map((sk) => ({ PutRequest: { Item: { pk: { S: "p" }, sk: { S: sk } } } })),
          },
        }),
      );
    await refused(write(["b", "a", "a"]), /duplicates/);
    await refused(write(Array.from({ length: 26 }, (_, n) => `k${n}`)), /at most 25/);
    expect([...store.all()]).toEqual([]);
  });
});

it("describes its one table and the attribute that expires items", async () => {
  expect((await client.send(new ListTablesCommand({}))).TableNames).toEqual([TableName]);
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
  expect(TimeToLiveDescription).toEqual({ AttributeName: "expiresAt", TimeToLiveStatus: "ENABLED" });
});
