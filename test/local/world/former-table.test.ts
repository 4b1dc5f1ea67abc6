import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { StoreLockedError } from "../../../local/items/store-errors.ts";
import { openLocalStore, tableOver } from "../../../local/world/local-table.ts";
import { encodeItem } from "../../../shared/aws/item-attributes.ts";
import { startDynalite } from "../../aws/emulators/dynamodb/dynalite-server.ts";
import { tableSchema } from "../../aws/emulators/dynamodb/dynamodb-schema.ts";
import { clientConfig } from "../../aws/emulators/support.ts";

const TableName = "gsv-test";
const items = Array.from({ length: 700 }, (_, n) => ({
  pk: `S#${n % 10}`,
  sk: String(n).padStart(3, "0"),
  nested: { list: [n / 4, null, true, { größe: "ü" }] },
  ...(n % 3 === 0 ? { duePk: "DUE", dueAt: n } : {}),
}));
/** Holds the former layout with these items. */
let formerDir: string;
/** A copy of it. */
let dir: string;

beforeAll(async () => {
  formerDir = await mkdtemp(join(tmpdir(), "gsv-former-"));
  const former = await startDynalite(join(formerDir, "dynamodb"));
  const client = new DynamoDBClient(clientConfig(former.url));
  await client.send(new CreateTableCommand(tableSchema(TableName)));
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
  const puts = items.map((item) => ({ PutRequest: { Item: encodeItem(item) } }));
  for (let from = 0; from < puts.length; from += 25) {
    const RequestItems = { [TableName]: puts.slice(from, from + 25) };
    await client.send(new BatchWriteItemCommand({ RequestItems }));
  }
  client.destroy();
  await former.close();
});
afterAll(() => rm(formerDir, { recursive: true }));
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-former-"));
});
afterEach(() => rm(dir, { recursive: true }));
const copyFormer = () => cp(formerDir, dir, { recursive: true });

it("takes over every item of the former layout once, and keeps its folder under another name", async () => {
  await copyFormer();
  const former = await startDynalite(join(dir, "dynamodb"));
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
  await copyFormer();
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
  await copyFormer();
  const store = await openLocalStore({ dir });
  expect([...store.all()]).toEqual([newer]);
  await store.close();
});
