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
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import type { Condition } from "../world/expression.ts";
import { ConditionFailed, type IndexQuery, type Item, type Query, type Table } from "../world/world.ts";
import { compileCondition, compileUpdate, Placeholders } from "./expression-compiler.ts";

/**
 * The table over DynamoDB; region, credentials and endpoint come from the environment, as the SDK reads them.
 */
export function openDynamoDBTable(tableName: string): Table {
  const client = new DynamoDBClient({ maxAttempts: 5 });
  const encode = (item: Item) =>
    marshall(item, { removeUndefinedValues: true }) as Record<string, AttributeValue>;
  const decode = (item: Record<string, AttributeValue>) => unmarshall(item) as Item;
  return {
    async get(key) {
      const output = await client.send(
        new GetItemCommand({ TableName: tableName, Key: encode({ ...key }), ConsistentRead: true }),
      );
      return output.Item && decode(output.Item);
    },
    async put(item, condition) {
      const request = { TableName: tableName, Item: encode(item), ...bind(condition, encode) };
      await conditional(client.send(new PutItemCommand(request)));
    },
    async update(key, steps, condition) {
      const placeholders = new Placeholders();
      const UpdateExpression = compileUpdate(steps, placeholders);
      const bound = bind(condition, encode, placeholders);
      const request = { TableName: tableName, Key: encode({ ...key }), UpdateExpression, ...bound };
      const output = await conditional(
        client.send(new UpdateItemCommand({ ...request, ReturnValues: "ALL_NEW" })),
      );
      return decode(output.Attributes ?? {});
    },
    async delete(key, condition) {
      const request = { TableName: tableName, Key: encode({ ...key }), ...bind(condition, encode) };
      const output = await conditional(
        client.send(new DeleteItemCommand({ ...request, ReturnValues: "ALL_OLD" })),
      );
      return output.Attributes && decode(output.Attributes);
    },
    query: (query) => readPages(client, tableQuery(tableName, query, encode), query.limit, decode),
    queryIndex: (query) => readPages(client, indexQuery(tableName, query, encode), query.limit, decode),
  };
}

type Encode = (item: Item) => Record<string, AttributeValue>;
type QueryRequest = ConstructorParameters<typeof QueryCommand>[0];

function bind(condition: Condition | undefined, encode: Encode, placeholders = new Placeholders()) {
  const text = condition && compileCondition(condition, placeholders);
  return {
    ...(text ? { ConditionExpression: text } : {}),
    ...(Object.keys(placeholders.names).length ? { ExpressionAttributeNames: placeholders.names } : {}),
    ...(Object.keys(placeholders.values).length
      ? { ExpressionAttributeValues: encode(placeholders.values) }
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

function tableQuery(TableName: string, query: Query, encode: Encode): QueryRequest {
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
    ExpressionAttributeValues: encode(values),
    ConsistentRead: true,
    ScanIndexForward: !query.descending,
  };
}

function indexQuery(TableName: string, query: IndexQuery, encode: Encode): QueryRequest {
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
    ExpressionAttributeValues: encode(values),
    ScanIndexForward: !query.descending,
  };
}

/** Reads pages until there are no more or `limit` items are read. DynamoDB ends a page at 1 MB. */
async function readPages(
  client: DynamoDBClient,
  request: QueryRequest,
  limit: number | undefined,
  decode: (item: Record<string, AttributeValue>) => Item,
): Promise<Item[]> {
  const items: Item[] = [];
  let start: Record<string, AttributeValue> | undefined;
  do {
    const Limit = limit === undefined ? undefined : limit - items.length;
    const page = await client.send(new QueryCommand({ ...request, Limit, ExclusiveStartKey: start }));
    for (const item of page.Items ?? []) items.push(decode(item));
    start = page.LastEvaluatedKey;
  } while (start && (limit === undefined || items.length < limit));
  return items;
}
