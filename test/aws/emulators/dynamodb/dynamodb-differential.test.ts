import { Agent, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import {
  type AttributeValue,
  CreateTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../../../local/items/item-store.ts";
import { seededRandom } from "../../../support/random.ts";
import { clientConfig } from "../support.ts";
import { startDynalite } from "./dynalite-server.ts";
import { startDynamoDB } from "./dynamodb.ts";
import { tableSchema } from "./dynamodb-schema.ts";
import { type Request, randomRequest } from "./random-requests.ts";

const TableName = "gsv-test";
const agent = new Agent({ keepAlive: true });
const endpoints: Endpoint[] = [];

beforeAll(async () => {
  endpoints.push(await startDynamoDB({ store: createMemoryStore(), table: TableName }));
  const dynalite = await startDynalite();
  endpoints.push(dynalite);
  const client = new DynamoDBClient(clientConfig(dynalite.url));
  await client.send(new CreateTableCommand(tableSchema(TableName) as never));
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
  client.destroy();
});

afterAll(async () => {
  agent.destroy();
  for (const { close } of endpoints) await close();
});

interface Answer {
  status: number;
  body: { __type?: string; Attributes?: object; Item?: object; Items?: object[] };
}

/** What makes a request look signed. */
const signed = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=LOCALTEST/20300101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
  "x-amz-date": "20300101T000000Z",
};

/** Sends a request as the SDK does, in a fifth of its time. */
function send({ port }: Endpoint, operation: string, input: object): Promise<Answer> {
  const headers = {
    ...signed,
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `DynamoDB_20120810.${operation}`,
  };
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method: "POST", agent, headers };
    const request = httpRequest(options, async (response) => {
      const body = JSON.parse(await text(response)) as Answer["body"];
      resolve({ status: response.statusCode ?? 0, body });
    });
    request.once("error", reject);
    request.end(JSON.stringify({ TableName, ...input }));
  });
}

/** What a server answers, as far as two servers must agree: the order of a scan is each server's own. */
async function outcome(endpoint: Endpoint, { operation, input }: Request): Promise<unknown> {
  const { status, body } = await send(endpoint, operation, input);
  if (status !== 200) return { status, name: body.__type?.split("#").at(-1) };
  if (body.Attributes && Object.keys(body.Attributes).length === 0) delete body.Attributes;
  if (operation === "Scan") body.Items?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const Key = input.Key as Record<string, AttributeValue> | undefined;
  const read = Key && (await send(endpoint, "GetItem", { Key }));
  return { ...body, stored: read };
}

it.each([1, 2, 3, 4])(
  "the local DynamoDB and dynalite answer 200 requests of seed %i alike",
  async (seed) => {
    const random = seededRandom(seed);
    for (let n = 0; n < 200; n += 1) {
      const request = randomRequest(random);
      const [ours, theirs] = await Promise.all(endpoints.map((endpoint) => outcome(endpoint, request)));
      if (isDeepStrictEqual(ours, theirs)) continue;
      expect({ request, answer: ours }).toEqual({ request, answer: theirs });
      expect.unreachable("the answers differ");
    }
  },
);
