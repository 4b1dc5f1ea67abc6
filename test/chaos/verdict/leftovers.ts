import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Schedules } from "../../../local/scheduler/schedule-store.ts";

/** The state after a run, when every peer is connected and no work is in progress. */
export interface Leftovers {
  items: readonly Record<string, unknown>[];
  /** One-shot schedules that are past or orphaned. */
  schedules: readonly string[];
}

export interface Living {
  /** Connections of the peers, by `{mode} {id}`. */
  peers: ReadonlyMap<string, string>;
  /** Connections whose end the gateway has handled. */
  ended: ReadonlySet<string>;
}

/** Items of these partitions are temporary and must expire. */
const passing = /^(CONN|PEER|DEFER|RX|TX)#/;

/**
 * Finds garbage: records of closed connections, requests that wait for nothing, schedules that were not deleted. If the
 * process that handled a connection's end died, its record remains until it expires.
 */
export function findLeftovers({ items, schedules }: Leftovers, { peers, ended }: Living): string[] {
  const found = schedules.map((name) => `the schedule ${name} is still there`);
  const connected = new Set(peers.values());
  for (const item of items) {
    const [pk, sk] = [String(item.pk), String(item.sk)];
    const isResult = pk.startsWith("S#") && sk.startsWith("R#");
    if ((passing.test(pk) || isResult) && typeof item.expiresAt !== "number")
      found.push(`${pk} ${sk} never expires`);
    const [kind, name = ""] = pk.split("#");
    if (kind === "DEFER") found.push(`a request waits for the node ${name}: ${sk}`);
    // A retried $connect that arrives after the end leaves a record that names no peer.
    if (kind === "CONN" && ended.has(name) && !connected.has(name) && item.peerId !== undefined)
      found.push(`the connection ${name} has ended, but its record still exists`);
    if (kind === "PEER" && peers.get(`${name} ${sk}`) !== item.connectionId)
      found.push(`the ${name} ${sk} is recorded on the old connection ${item.connectionId}`);
    if (sk === "META" && pk.startsWith("S#") && item.duePk !== undefined && item.run === undefined)
      found.push(`${pk} is listed as due, but is idle`);
  }
  return found;
}

/** Every item of a table. */
export async function readItems(endpoint: string, TableName: string): Promise<Record<string, unknown>[]> {
  const client = new DynamoDBClient({ endpoint });
  const items: Record<string, unknown>[] = [];
  let ExclusiveStartKey: never | undefined;
  do {
    const page = await client.send(new ScanCommand({ TableName, ExclusiveStartKey, ConsistentRead: true }));
    items.push(...(page.Items ?? []).map((item) => unmarshall(item)));
    ExclusiveStartKey = page.LastEvaluatedKey as never;
  } while (ExclusiveStartKey);
  client.destroy();
  return items;
}

/** Waits up to `maxMs` until the one-shot schedules have fired. @returns the names of those that remain */
export async function untilFired(schedules: Schedules, maxMs: number): Promise<string[]> {
  const deadline = Date.now() + maxMs;
  const left = () => schedules.list().filter(({ expression }) => expression.startsWith("at("));
  while (left().length > 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 1000));
  return left().map(({ name }) => name);
}
