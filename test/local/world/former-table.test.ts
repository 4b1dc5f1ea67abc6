import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, expect, it } from "vitest";
import { tableSchema } from "../../../local/dynamodb/dynamodb-schema.ts";
import { StoreLockedError } from "../../../local/items/store-errors.ts";
import { openLocalStore, tableOver } from "../../../local/world/local-table.ts";
import { openDynamoDBTable } from "../../../shared/aws/dynamodb-table.ts";
import { startDynalite } from "../dynamodb/dynalite-server.ts";
import { clientConfig } from "../support.ts";

const TableName = "gsv-test";
const environment = { ...process.env };
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-former-"));
});
afterEach(async () => {
  process.env = { ...environment };
  await rm(dir, { recursive: true });
});

/** The former layout, with 700 items, still open. */
async function startFormer() {
  const former = await startDynalite(join(dir, "dynamodb"));
  const client = new DynamoDBClient(clientConfig(former.url));
  await client.send(new CreateTableCommand(tableSchema(TableName)));
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: former.url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "LOCALTEST",
    AWS_SECRET_ACCESS_KEY: "local",
  });
  const table = openDynamoDBTable(TableName);
  const items = Array.from({ length: 700 }, (_, n) => ({
    pk: `S#${n % 10}`,
    sk: String(n).padStart(3, "0"),
    nested: { list: [n / 4, null, true, { größe: "ü" }] },
    ...(n % 3 === 0 ? { duePk: "DUE", dueAt: n } : {}),
  }));
  for (const item of items) await table.put(item);
  return { former, items };
}

it("takes over every item of the former layout once, and keeps its folder under another name", async () => {
  const { former, items } = await startFormer();
  await expect(openLocalStore({ dir })).rejects.toBeInstanceOf(StoreLockedError);
  await former.close();
  for (const start of ["first", "second"]) {
    const store = await openLocalStore({ dir });
    expect(
      [...store.all()].sort((a, b) => a.sk.localeCompare(b.sk)),
      start,
    ).toEqual(items);
    expect([...store.indexRange({ index: "due", pk: "DUE" })]).toHaveLength(234);
    await store.close();
    expect((await readdir(dir)).sort()).toEqual(["dynamodb.former", "table"]);
  }
});

it("starts the takeover over when it was cut off", async () => {
  const { former, items } = await startFormer();
  await former.close();
  await mkdir(join(dir, "table"));
  await writeFile(join(dir, "table", "snapshot-1.tmp"), "half of a snapsh");
  const store = await openLocalStore({ dir });
  expect([...store.all()]).toHaveLength(items.length);
  await store.close();
  expect(await readdir(join(dir, "table"))).not.toContain("snapshot-1.tmp");
});

it("does not put the items of the former layout over a table that is there", async () => {
  const newer = { pk: "S#0", sk: "000", newer: true };
  const before = await openLocalStore({ dir });
  await tableOver(before).put(newer);
  await before.close();
  const { former } = await startFormer();
  await former.close();
  const store = await openLocalStore({ dir });
  expect([...store.all()]).toEqual([newer]);
  await store.close();
});
