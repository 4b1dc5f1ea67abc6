import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import type { Item, ItemValue } from "../../../shared/world/world.ts";
import { parseRecord } from "../../http/json.ts";
import type { StoredItem } from "../keyed-items.ts";

/** A value in DynamoDB's JSON, of the types that the former table can hold. */
interface AttributeValue {
  S?: string;
  N?: string;
  BOOL?: boolean;
  NULL?: true;
  L?: AttributeValue[];
  M?: Record<string, AttributeValue>;
}

interface Page {
  Items?: Record<string, AttributeValue>[];
  LastEvaluatedKey?: object;
  TableNames?: string[];
}

const pageItems = 500;

/**
 * The items of a table of the former layout, which was a LevelDB.
 * @param dir folder of the LevelDB
 * @throws StoreLockedError while another process has it open
 */
export async function* formerItems(dir: string): AsyncGenerator<StoredItem> {
  const { openDynamoDBStore } = await import("../../dynamodb/dynamodb-store.ts");
  let crash = "";
  const store = await openDynamoDBStore(dir, (reason) => {
    crash = reason;
  });
  const call = async (operation: string, input: object): Promise<Page> => {
    const { status, body } = await store.call(operation, JSON.stringify(input));
    if (status !== 200) throw new Error(`cannot read the former table in ${dir}: ${crash || body}`);
    return parseRecord(body) ?? {};
  };
  try {
    for (const TableName of (await call("ListTables", {})).TableNames ?? []) {
      let ExclusiveStartKey: object | undefined;
      do {
        const page: Page = await call("Scan", { TableName, Limit: pageItems, ExclusiveStartKey });
        for (const item of page.Items ?? []) yield decodeMap(item) as StoredItem;
        ExclusiveStartKey = page.LastEvaluatedKey;
      } while (ExclusiveStartKey);
    }
  } finally {
    await store.close();
  }
}

/** Renames a former table's folder, when there is one, to show that it is not used any more. It is kept. */
export async function retireFormerTable(dir: string): Promise<void> {
  const retired = `${dir}.former`;
  if (existsSync(dir) && !existsSync(retired)) await rename(dir, retired);
}

function decodeMap(map: Record<string, AttributeValue>): Item {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, decode(value)]));
}

/** @throws Error for binary values and sets, which nothing of ours ever wrote */
function decode(value: AttributeValue): ItemValue {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  if (value.L !== undefined) return value.L.map(decode);
  if (value.M !== undefined) return decodeMap(value.M);
  throw new Error(
    `the former table has a value of a type that this table does not keep: ${Object.keys(value)}`,
  );
}
