import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Condition, Path, Step } from "../world/expression.ts";
import {
  ConditionFailed,
  type IndexQuery,
  type Item,
  type ItemValue,
  type Query,
  type Table,
} from "../world/world.ts";
import { type CallLimits, clientSettings, tableLimits } from "./call-limits.ts";
import { decodeItem, encodeItem, storedName } from "./item-attributes.ts";

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
    query(query) {
      const request = tableQuery(tableName, query);
      return readPages((page) => client.send(new QueryCommand({ ...request, ...page })), query.limit);
    },
    queryIndex({ pk, after, ...query }) {
      const IndexName = query.index;
      const request = pk === undefined ? undefined : indexQuery(tableName, { ...query, pk });
      const read = (page: PageRequest) =>
        request
          ? client.send(new QueryCommand({ ...request, ...page }))
          : client.send(new ScanCommand({ TableName: tableName, IndexName, ...page }));
      const start = ["pk", "sk", ...indexKeys[query.index]].map((name) => [name, after?.[name]]);
      return readPages(read, query.limit, after && encodeItem(Object.fromEntries(start)));
    },
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

const indexKeys = { list: ["listPk", "listSk"], due: ["duePk", "dueAt"] } as const;

function indexQuery(TableName: string, query: IndexQuery & { pk: string }): QueryRequest {
  const [pk, sk] = indexKeys[query.index];
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

type Position = Record<string, AttributeValue>;
type PageRequest = { Limit: number | undefined; ExclusiveStartKey: Position | undefined };
type Page = { Items?: Position[] | undefined; LastEvaluatedKey?: Position | undefined };

/** Reads pages until there are no more or `limit` items are read. DynamoDB ends a page at 1 MB. */
async function readPages(
  read: (page: PageRequest) => Promise<Page>,
  limit: number | undefined,
  after?: Position,
): Promise<Item[]> {
  const items: Item[] = [];
  let start = after;
  do {
    const Limit = limit === undefined ? undefined : limit - items.length;
    const page = await read({ Limit, ExclusiveStartKey: start });
    for (const item of page.Items ?? []) items.push(decodeItem(item));
    start = page.LastEvaluatedKey;
  } while (start && (limit === undefined || items.length < limit));
  return items;
}

/** A compiled expression: DynamoDB's text with its placeholders. */
export interface Compiled {
  text: string;
  names: Record<string, string>;
  values: Item;
}

/** Collects the placeholders of one request, so that each name and value is bound once. */
export class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Item = {};
  private readonly byName = new Map<string, string>();

  path(path: Path): string {
    const parts = typeof path === "string" ? [path] : path;
    let text = "";
    for (const part of parts) {
      if (typeof part === "number") text += `[${part}]`;
      else text += `${text === "" ? "" : "."}${this.name(part)}`;
    }
    return text;
  }

  value(value: ItemValue): string {
    const key = `:v${Object.keys(this.values).length}`;
    this.values[key] = value;
    return key;
  }

  private name(name: string): string {
    const known = this.byName.get(name);
    if (known) return known;
    const key = `#n${this.byName.size}`;
    this.byName.set(name, key);
    this.names[key] = storedName(name);
    return key;
  }
}

/** DynamoDB's UpdateExpression for the steps. */
export function compileUpdate(steps: readonly Step[], placeholders: Placeholders): string {
  const sets: string[] = [];
  const removes: string[] = [];
  for (const step of steps) {
    const path = placeholders.path(step.path);
    switch (step.op) {
      case "set":
        sets.push(`${path} = ${placeholders.value(step.value)}`);
        break;
      case "setIfAbsent":
        sets.push(`${path} = if_not_exists(${path}, ${placeholders.value(step.value)})`);
        break;
      case "add":
        sets.push(
          `${path} = if_not_exists(${path}, ${placeholders.value(0)}) + ${placeholders.value(step.by)}`,
        );
        break;
      case "append":
        sets.push(
          `${path} = list_append(if_not_exists(${path}, ${placeholders.value([])}), ${placeholders.value(step.values)})`,
        );
        break;
      case "remove":
        removes.push(path);
    }
  }
  return [sets.length ? `SET ${sets.join(", ")}` : "", removes.length ? `REMOVE ${removes.join(", ")}` : ""]
    .filter(Boolean)
    .join(" ");
}

/** DynamoDB's ConditionExpression. */
export function compileCondition(condition: Condition, placeholders: Placeholders): string {
  switch (condition.is) {
    case "exists":
      return `attribute_exists(${placeholders.path(condition.path)})`;
    case "absent":
      return `attribute_not_exists(${placeholders.path(condition.path)})`;
    case "lacks":
      return `NOT contains(${placeholders.path(condition.path)}, ${placeholders.value(condition.part)})`;
    case "all":
    case "any": {
      const word = condition.is === "all" ? " AND " : " OR ";
      return `(${condition.of.map((one) => compileCondition(one, placeholders)).join(word)})`;
    }
    default:
      return `${placeholders.path(condition.path)} ${condition.is} ${placeholders.value(condition.value)}`;
  }
}
