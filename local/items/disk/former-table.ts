import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Item, ItemValue } from "../../../shared/world/world.ts";
import type { StoredItem } from "../keyed-items.ts";
import { StoreError, StoreLockedError } from "../store-errors.ts";

/** A value in DynamoDB's JSON, of the types that the former table can hold. */
interface AttributeValue {
  S?: string;
  N?: string;
  BOOL?: boolean;
  NULL?: true;
  L?: AttributeValue[];
  M?: Record<string, AttributeValue>;
}

/** A LevelDB, as far as it is read here. */
interface Level {
  open(): Promise<void>;
  values(range: { gte: string; lt: string }): AsyncIterable<Record<string, AttributeValue>>;
  close(): Promise<void>;
}

/**
 * The items of a table of the former layout, which was dynalite's: a LevelDB with DynamoDB's JSON as values.
 * @param dir folder of the LevelDB
 * @throws StoreLockedError while another process has it open, StoreError where LevelDB is not installed
 */
export async function* formerItems(dir: string): AsyncGenerator<StoredItem> {
  const level = await openLevel(dir);
  try {
    // A table's items have keys of the form `item-{table}~{key}`.
    for await (const item of level.values({ gte: "item-", lt: "item." })) yield decodeMap(item) as StoredItem;
  } finally {
    await level.close();
  }
}

async function openLevel(dir: string): Promise<Level> {
  const Level = loadLevel(dir);
  const level = new Level(dir, { valueEncoding: "json" });
  try {
    await level.open();
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    throw cause?.code === "LEVEL_LOCKED" ? new StoreLockedError(`${dir} is in use`) : error;
  }
  return level;
}

type LevelClass = new (dir: string, options: { valueEncoding: "json" }) => Level;

/** LevelDB is native code, which a bundle cannot hold. */
function loadLevel(dir: string): LevelClass {
  const require = createRequire(import.meta.url);
  try {
    return (createRequire(require.resolve("dynalite/db"))("level") as { Level: LevelClass }).Level;
  } catch (error) {
    throw new StoreError(
      `${dir} was written by an early version, which only a checkout can read; start gsv there once in this folder`,
      { cause: error },
    );
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
