import { connect } from "node:net";
import {
  type AttributeValue,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import { createMemoryStore, type ItemStore } from "../../../../local/items/item-store.ts";
import type { AccessRequest } from "../access.ts";
import { clientConfig } from "../support.ts";
import { startDynamoDB } from "./dynamodb.ts";

const TableName = "gsv-test";
let broken = false;
const items = createMemoryStore();
const store: ItemStore = {
  ...items,
  get(key) {
    if (broken) throw new Error("the disk is gone");
    return items.get(key);
  },
};
let dynamodb: Endpoint;
let client: DynamoDBClient;
const asked: AccessRequest[] = [];
let deny: (request: AccessRequest) => boolean = () => false;
const faults: unknown[] = [];

beforeAll(async () => {
  dynamodb = await startDynamoDB({
    store,
    table: TableName,
    onError: (error) => faults.push(error),
    authorize: (request) => {
      asked.push(request);
      return !deny(request);
    },
  });
  client = new DynamoDBClient({ ...clientConfig(dynamodb.url), maxAttempts: 1 });
});

afterAll(() => dynamodb.close());

const put = (item: Record<string, AttributeValue>) =>
  client.send(new PutItemCommand({ TableName, Item: item }));
const get = async (pk: string) => {
  const Key = { pk: { S: pk }, sk: { S: "A" } };
  return (await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item;
};
const due = async (partition: string) => {
  const query = new QueryCommand({
    TableName,
    IndexName: "due",
    KeyConditionExpression: "duePk = :p",
    ExpressionAttributeValues: { ":p": { S: partition } },
  });
  return (await client.send(query)).Items ?? [];
};

/** Sends bytes as they are and resolves once the server or the caller has ended the connection. */
const raw = (text: string, { abort = false } = {}) =>
  new Promise<string>((resolve) => {
    let answer = "";
    const socket = connect(dynamodb.port, "127.0.0.1", () => {
      socket.write(text, () => abort && socket.resetAndDestroy());
    });
    socket.on("data", (data) => {
      answer += data;
      socket.end();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
  });

describe("DynamoDB", () => {
  it("has the application's table with its two indexes", async () => {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    expect(Table?.TableStatus).toBe("ACTIVE");
    expect(Table?.TableArn).toBe("arn:aws:dynamodb:us-east-1:000000000000:table/gsv-test");
    expect(Table?.GlobalSecondaryIndexes?.map((index) => index.IndexName).sort()).toEqual(["due", "list"]);
  });

  it("lets one of a hundred concurrent conditional writes win", async () => {
    const writes = Array.from({ length: 100 }, (_, writer) =>
      client.send(
        new PutItemCommand({
          TableName,
          Item: { pk: { S: "race" }, sk: { S: "A" }, writer: { N: String(writer) } },
          ConditionExpression: "attribute_not_exists(pk)",
        }),
      ),
    );
    const results = await Promise.allSettled(writes);
    const lost = results.filter((result) => result.status === "rejected");
    expect(lost).toHaveLength(99);
    expect(lost.every(({ reason }) => reason instanceof ConditionalCheckFailedException)).toBe(true);
    const winner = results.findIndex((result) => result.status === "fulfilled");
    expect((await get("race"))?.writer).toEqual({ N: String(winner) });
  });

  it("moves an item's index row with the item and drops it when the key goes", async () => {
    const Key = { pk: { S: "moving" }, sk: { S: "A" } };
    await put({ ...Key, duePk: { S: "moves" }, dueAt: { N: "1" } });
    await client.send(
      new UpdateItemCommand({
        TableName,
        Key,
        UpdateExpression: "SET dueAt = :t",
        ExpressionAttributeValues: { ":t": { N: "2" } },
      }),
    );
    expect(await due("moves")).toEqual([{ ...Key, duePk: { S: "moves" }, dueAt: { N: "2" } }]);
    await client.send(new UpdateItemCommand({ TableName, Key, UpdateExpression: "REMOVE duePk, dueAt" }));
    expect(await due("moves")).toEqual([]);
  });

  it("writes the index rows of batches", async () => {
    const requests = Array.from({ length: 20 }, (_, n) => ({
      PutRequest: {
        Item: { pk: { S: `b${n}` }, sk: { S: "A" }, duePk: { S: "batch" }, dueAt: { N: String(n) } },
      },
    }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: requests } }));
    expect((await due("batch")).map((row) => row.pk?.S)).toEqual(requests.map((_, n) => `b${n}`));
  });

  it("refuses an item above 400 KB of UTF-8, on put and on update", async () => {
    const text = "ä".repeat(210 * 1024);
    await expect(put({ pk: { S: "big" }, sk: { S: "A" }, text: { S: text } })).rejects.toMatchObject({
      name: "ValidationException",
    });
    const update = new UpdateItemCommand({
      TableName,
      Key: { pk: { S: "big" }, sk: { S: "A" } },
      UpdateExpression: "SET #t = :t",
      ExpressionAttributeNames: { "#t": "text" },
      ExpressionAttributeValues: { ":t": { S: text } },
    });
    await expect(client.send(update)).rejects.toMatchObject({ name: "ValidationException" });
    await put({ pk: { S: "big" }, sk: { S: "A" }, text: { S: "ä".repeat(190 * 1024) } });
  });

  it("asks for access to the table, the index, and every table of a batch", async () => {
    asked.length = 0;
    await due("batch");
    await client.send(new ScanCommand({ TableName, Limit: 1 }));
    await client.send(
      new BatchWriteItemCommand({
        RequestItems: { [TableName]: [{ DeleteRequest: { Key: { pk: { S: "x" }, sk: { S: "A" } } } }] },
      }),
    );
    const table = "arn:aws:dynamodb:us-east-1:000000000000:table/gsv-test";
    expect(asked).toEqual([
      { accessKeyId: "LOCALTEST", action: "dynamodb:Query", resource: `${table}/index/due` },
      { accessKeyId: "LOCALTEST", action: "dynamodb:Scan", resource: table },
      { accessKeyId: "LOCALTEST", action: "dynamodb:BatchWriteItem", resource: table },
    ]);
  });

  it("answers AccessDeniedException when access is refused, and nothing is written", async () => {
    deny = ({ action }) => action === "dynamodb:PutItem";
    await expect(put({ pk: { S: "denied" }, sk: { S: "A" } })).rejects.toMatchObject({
      name: "AccessDeniedException",
    });
    const input = JSON.stringify({ TableName, RequestItems: {} });
    const signed = "authorization: AWS4-HMAC-SHA256 Credential=A/1/us-east-1/dynamodb/aws4_request";
    const call = `${signed}\r\nx-amz-target: DynamoDB_20120810.Scan\r\ncontent-length: ${input.length}\r\n\r\n${input}`;
    deny = () => true;
    expect(await raw(`POST / HTTP/1.1\r\nhost: localhost\r\n${call}`)).toContain("AccessDenied");
    deny = () => false;
    expect(await get("denied")).toBeUndefined();
  });

  it("survives aborted bodies, garbage and requests that are not DynamoDB's", async () => {
    await raw('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"Table', { abort: true });
    expect(await raw("\x16\x03\x01garbage\r\n\r\n")).toContain("400 Bad Request");
    expect(await raw("GET / HTTP/1.1\r\nhost: x\r\n\r\n")).toContain("UnknownOperationException");
    const target = "x-amz-target: DynamoDB_20120810";
    const signed = "authorization: AWS4-HMAC-SHA256 Credential=A/1/us-east-1/dynamodb/aws4_request";
    for (const body of ["nonsense", "[]", "null", '"text"', '{"TableName":{"a":1}}', '{"Key":[[[]]]}']) {
      const request = `POST / HTTP/1.1\r\nhost: localhost\r\n${signed}\r\n${target}.GetItem\r\ncontent-length: ${body.length}`;
      expect(await raw(`${request}\r\n\r\n${body}`)).toMatch(/ 400 Bad Request[\s\S]*Exception/);
    }
    const unsigned = `POST / HTTP/1.1\r\nhost: 127.0.0.1:1\r\n${target}.GetItem\r\ncontent-length: 2\r\n\r\n{}`;
    expect(await raw(unsigned)).toContain("MissingAuthenticationToken");
    expect(await get("moving")).toBeDefined();
  });

  it("refuses what is addressed to another name, as by a page whose name was pointed here", async () => {
    const signed = "authorization: AWS4-HMAC-SHA256 Credential=A/1/us-east-1/dynamodb/aws4_request";
    const call = `${signed}\r\nx-amz-target: DynamoDB_20120810.ListTables\r\ncontent-length: 2\r\n\r\n{}`;
    for (const host of ["page.example", "127.0.0.1.page.example", "localhost@page.example"])
      expect(await raw(`POST / HTTP/1.1\r\nhost: ${host}\r\n${call}`), host).toContain("AccessDenied");
    expect(await raw(`POST / HTTP/1.1\r\nhost: 127.0.0.1:8000\r\n${call}`)).toContain("200 OK");
  });

  it("answers InternalServerError when the store fails, reports it, and goes on", async () => {
    broken = true;
    await expect(get("moving")).rejects.toMatchObject({ name: "InternalServerError" });
    broken = false;
    expect(String(faults)).toContain("the disk is gone");
    expect(await get("moving")).toBeDefined();
  });

  it("shows what another door writes into the same store", async () => {
    await items.write({ pk: "shared", sk: "A" }, () => ({
      pk: "shared",
      sk: "A",
      count: 1e21 / 1e20,
      deep: [{ no: null }],
    }));
    expect(await get("shared")).toEqual({
      pk: { S: "shared" },
      sk: { S: "A" },
      count: { N: "10" },
      deep: { L: [{ M: { no: { NULL: true } } }] },
    });
  });
});
