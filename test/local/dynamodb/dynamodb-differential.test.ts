import {
  type AttributeValue,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startDynamoDB } from "../../../local/dynamodb/dynamodb.ts";
import { tableSchema } from "../../../local/dynamodb/dynamodb-schema.ts";
import type { Endpoint } from "../../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../../local/items/item-store.ts";
import { seededRandom } from "../../support/random.ts";
import { clientConfig } from "../support.ts";
import { startDynalite } from "./dynalite-server.ts";
import { type Request, randomRequest } from "./random-requests.ts";

const TableName = "gsv-test";
const commands = {
  DeleteItem: DeleteItemCommand,
  GetItem: GetItemCommand,
  PutItem: PutItemCommand,
  Query: QueryCommand,
  Scan: ScanCommand,
  UpdateItem: UpdateItemCommand,
};

const endpoints: Endpoint[] = [];
const clients: DynamoDBClient[] = [];

beforeAll(async () => {
  endpoints.push(await startDynamoDB({ store: createMemoryStore(), table: TableName }));
  endpoints.push(await startDynalite());
  for (const { url } of endpoints) clients.push(new DynamoDBClient({ ...clientConfig(url), maxAttempts: 1 }));
  await clients[1]!.send(new CreateTableCommand(tableSchema(TableName) as never));
  await waitUntilTableExists({ client: clients[1]!, maxWaitTime: 60, minDelay: 1 }, { TableName });
});

afterAll(async () => {
  for (const { close } of endpoints) await close();
});

/** What a server answers, as far as two servers must agree: the order of a scan is each server's own. */
async function outcome(client: DynamoDBClient, { operation, input }: Request): Promise<unknown> {
  const Command = commands[operation] as new (input: object) => GetItemCommand;
  try {
    const { $metadata, ...answer } = (await client.send(new Command({ TableName, ...input }))) as {
      $metadata: object;
      Attributes?: object;
      Items?: object[];
    };
    if (answer.Attributes && Object.keys(answer.Attributes).length === 0) delete answer.Attributes;
    if (operation === "Scan") answer.Items?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    const Key = input.Key as Record<string, AttributeValue> | undefined;
    const read = Key && (await client.send(new GetItemCommand({ TableName, Key })));
    return { ...answer, stored: read?.Item };
  } catch (error) {
    return (error as Error).name;
  }
}

it.each([1, 2, 3, 4])(
  "the local DynamoDB and dynalite answer 200 requests of seed %i alike",
  async (seed) => {
    const random = seededRandom(seed);
    for (let n = 0; n < 200; n += 1) {
      const request = randomRequest(random);
      const [ours, theirs] = await Promise.all(clients.map((client) => outcome(client, request)));
      expect({ request, answer: ours }).toEqual({ request, answer: theirs });
    }
  },
);
