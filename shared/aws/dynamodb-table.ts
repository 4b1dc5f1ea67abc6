import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Condition } from "../world/expression.ts";
import { ConditionFailed, type IndexQuery, type Item, type Query, type Table } from "../world/world.ts";
import { type CallLimits, clientSettings, tableLimits } from "./call-limits.ts";
import { compileCondition, compileUpdate, Placeholders } from "./expression-compiler.ts";
import { decodeItem, encodeItem } from "./item-attributes.ts";

/**
 * The table over DynamoDB; region, credentials and endpoint come from the environment, as the SDK reads them.
 */
export function openDynamoDBTable(tableName: string, limits: CallLimits = tableLimits): Table {
  const client = new DynamoDBClient(clientSettings(limits));
  return {
    async get(key) {
      const output = await client.send(
        new GetItemCommand({ TableName: tableName, Key: encodeItem({ ...key }), ConsistentRead: true }),
      );
      return output.Item && decodeItem(output.Item);
    },
    async put(item, condition) {
      const request = { TableName: tableName, Item: encodeItem(item), ...bind(condition) };
      await conditional(client.send(new PutItemCommand(request)));
    },
    async update(key, steps, condition) {
      const placeholders = new Placeholders();
      const UpdateExpression = compileUpdate(steps, placeholders);
      const bound = bind(condition, placeholders);
      const request = { TableName: tableName, Key: encodeItem({ ...key }), UpdateExpression, ...bound };
      const output = await conditional(
        client.send(new UpdateItemCommand({ ...request, ReturnValues: "ALL_NEW" })),
      );
      return decodeItem(output.Attributes ?? {});
    },
    async delete(key, condition) {
      const request = { TableName: tableName, Key: encodeItem({ ...key }), ...bind(condition) };
      const output = await conditional(
        client.send(new DeleteItemCommand({ ...request, ReturnValues: "ALL_OLD" })),
      );
      return output.Attributes && decodeItem(output.Attributes);
    },
    query: (query) => readPages(client, tableQuery(tableName, query), query.limit),
    queryIndex: (query) => readPages(client, indexQuery(tableName, query), query.limit),
  };
}

type QueryRequest = ConstructorParameters<typeof QueryCommand>[0];

function bind(condition: Condition | undefined, placeholders = new Placeholders()) {
  const text = condition && compileCondition(condition, placeholders);
  return {
    ...(text ? { ConditionExpression: text } : {}),
    ...(Object.keys(placeholders.names).length ? { ExpressionAttributeNames: placeholders.names } : {}),
    ...(Object.keys(placeholders.values).length
      ? { ExpressionAttributeValues: encodeItem(placeholders.values) }
      : {}),
  };
}

async function conditional<T>(sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) throw new ConditionFailed();
    throw error;
  }
}

function tableQuery(TableName: string, query: Query): QueryRequest {
  let KeyConditionExpression = "pk = :pk";
  const values: Item = { ":pk": query.pk };
  if (query.prefix !== undefined) {
    KeyConditionExpression += " AND begins_with(sk, :prefix)";
    values[":prefix"] = query.prefix;
  } else if (query.from !== undefined || query.to !== undefined) {
    KeyConditionExpression += " AND sk BETWEEN :from AND :to";
    values[":from"] = query.from ?? " ";
    values[":to"] = query.to ?? "\u{10FFFF}";
  }
  return {
    TableName,
    KeyConditionExpression,
    ExpressionAttributeValues: encodeItem(values),
    ConsistentRead: true,
    ScanIndexForward: !query.descending,
  };
}

function indexQuery(TableName: string, query: IndexQuery): QueryRequest {
  const [pk, sk] = query.index === "list" ? ["listPk", "listSk"] : ["duePk", "dueAt"];
  const values: Item = { ":pk": query.pk };
  let KeyConditionExpression = `${pk} = :pk`;
  if (query.upTo !== undefined) {
    KeyConditionExpression += ` AND ${sk} <= :upTo`;
    values[":upTo"] = query.upTo;
  }
  return {
    TableName,
    IndexName: query.index,
    KeyConditionExpression,
    ExpressionAttributeValues: encodeItem(values),
    ScanIndexForward: !query.descending,
  };
}

/** Reads pages until there are no more or `limit` items are read. DynamoDB ends a page at 1 MB. */
async function readPages(
  client: DynamoDBClient,
  request: QueryRequest,
  limit: number | undefined,
): Promise<Item[]> {
  const items: Item[] = [];
  let start: Record<string, AttributeValue> | undefined;
  do {
    const Limit = limit === undefined ? undefined : limit - items.length;
    const page = await client.send(new QueryCommand({ ...request, Limit, ExclusiveStartKey: start }));
    for (const item of page.Items ?? []) items.push(decodeItem(item));
    start = page.LastEvaluatedKey;
  } while (start && (limit === undefined || items.length < limit));
  return items;
}
