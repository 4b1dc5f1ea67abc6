import { parseRecord } from "../http/json.ts";
import { timeToLiveAttribute } from "./dynamodb-schema.ts";
import type { DynamoDBStore } from "./dynamodb-store.ts";

type Key = Record<string, unknown>;

/**
 * Deletes the items whose time to live has passed. An item that got a later time in between stays.
 * @param now epoch seconds
 * @returns how many were deleted
 */
export async function deleteExpired(store: DynamoDBStore, table: string, now: number): Promise<number> {
  const names = { "#ttl": timeToLiveAttribute };
  const values = { ":now": { N: String(now) } };
  let deleted = 0;
  let start: Key | undefined;
  do {
    const page = await call(store, "Scan", {
      TableName: table,
      Limit: 200,
      ExclusiveStartKey: start,
      ProjectionExpression: "pk, sk",
      FilterExpression: "#ttl < :now",
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values,
    });
    for (const key of (page.Items ?? []) as Key[]) {
      const result = await call(store, "DeleteItem", {
        TableName: table,
        Key: key,
        ConditionExpression: "#ttl < :now",
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: values,
      });
      if (result.__type === undefined) deleted += 1;
    }
    start = page.LastEvaluatedKey as Key | undefined;
  } while (start !== undefined);
  return deleted;
}

/**
 * Deletes expired items every `intervalMs`, never two passes at once. DynamoDB promises only a few days.
 * @returns the way to stop it
 */
export function startExpiry(store: DynamoDBStore, table: string, intervalMs: number): () => void {
  let stopped = false;
  let timer = setTimeout(pass, intervalMs);
  timer.unref();

  async function pass(): Promise<void> {
    await deleteExpired(store, table, Math.floor(Date.now() / 1000));
    if (stopped) return;
    timer = setTimeout(pass, intervalMs);
    timer.unref();
  }

  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

async function call(
  store: DynamoDBStore,
  operation: string,
  input: object,
): Promise<Record<string, unknown>> {
  const { body } = await store.call(operation, JSON.stringify(input));
  return parseRecord(body) ?? {};
}
