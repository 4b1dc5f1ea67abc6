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
import { type Condition, compileCondition, compileUpdate, Placeholders, type Step } from "./expression.ts";

/** A value that an item can hold. `undefined` fields of objects are dropped on write. */
export type ItemValue =
  | string
  | number
  | boolean
  | null
  | ItemValue[]
  | { [name: string]: ItemValue | undefined };

export type Item = Record<string, ItemValue>;

export interface Key {
  pk: string;
  sk: string;
}

/** A read of one partition, in the order of the sort key. Items past `limit` are not read. */
export interface Query {
  pk: string;
  /** Only sort keys that start so. */
  prefix?: string;
  /** Only sort keys from here (inclusive) … */
  from?: string;
  /** … to here (inclusive). */
  to?: string;
  limit?: number;
  descending?: boolean;
}

/** A read of one of the sparse indexes: eventually consistent, so only for lists and sweeps. */
export interface IndexQuery {
  index: "list" | "due";
  pk: string;
  /** Only sort values up to this one (inclusive). */
  upTo?: number;
  limit?: number;
  descending?: boolean;
}

/** A conditional write whose condition did not hold. Nothing was written. */
export class ConditionFailed extends Error {
  constructor() {
    super("the condition of a write did not hold");
    this.name = "ConditionFailed";
  }
}

/** Whether a conditional write took place; false when its condition did not hold. */
export async function succeeds(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}

/**
 * The one table, as the rest of the project sees it: single-item reads and conditional writes, strongly consistent.
 * No transactions, no scans. Every write throws ConditionFailed when its condition does not hold.
 */
export interface Table {
  get(key: Key): Promise<Item | undefined>;
  put(item: Item & Key, condition?: Condition): Promise<void>;
  /** Creates the item when it is absent, unless the condition forbids it. Returns the whole item as written. */
  update(key: Key, steps: readonly Step[], condition?: Condition): Promise<Item>;
  /** Returns the item as it was, undefined when there was none. */
  delete(key: Key, condition?: Condition): Promise<Item | undefined>;
  query(query: Query): Promise<Item[]>;
  queryIndex(query: IndexQuery): Promise<Item[]>;
}

/** The table over DynamoDB; region, credentials and endpoint come from the environment, as the SDK reads them. */
export function openTable(tableName: string): Table {
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

/** DynamoDB ends a page at 1 MB, full or not: goes on until there is no further page, or `limit` items are read. */
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
