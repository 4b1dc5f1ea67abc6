import { randomUUID } from "node:crypto";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { openDynamoDBTable } from "../../../shared/aws/dynamodb-table.ts";
import { tableSchema } from "../../aws/emulators/dynamodb/dynamodb-schema.ts";
import { describeTable } from "../table-contract.ts";

const given = process.env.CONTRACTS_TABLE;

describeTable("the table", async () => {
  if (given !== undefined) return { table: openDynamoDBTable(given), close: async () => {} };
  const TableName = `gsv-contracts-${randomUUID()}`;
  const client = new DynamoDBClient();
  await client.send(new CreateTableCommand(tableSchema(TableName)));
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1, maxDelay: 2 }, { TableName });
  const close = async () => {
    await client.send(new DeleteTableCommand({ TableName }));
    client.destroy();
  };
  return { table: openDynamoDBTable(TableName), close };
});
