import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { Schedules } from "../../../local/scheduler/schedule-store.ts";

/** What a run leaves behind in the end, when every peer is connected and nothing is under way. */
export interface Leftovers {
  items: readonly Record<string, unknown>[];
  /** One-shot schedules that are past, or belong to nothing. */
  schedules: readonly string[];
}

export interface Living {
  /** Connections of the peers, by `{mode} {id}`. */
  peers: ReadonlyMap<string, string>;
  /** Connections whose end the gateway was told, and said that it had dealt with it. */
  ended: ReadonlySet<string>;
}

/** Items of these partitions are of use for a while, and must go by themselves. */
const passing = /^(CONN|PEER|DEFER|RX|TX)#/;

/**
 * Finds what is kept for nobody: records of connections that are gone, requests that nobody answers, schedules that
 * stay. Where the end of a connection was told to a process that died of it, its record is left until it expires.
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
    // A $connect whose first try was given up and still arrives, after the end, leaves a record that names no peer.
    if (kind === "CONN" && ended.has(name) && !connected.has(name) && item.peerId !== undefined)
      found.push(`the connection ${name} has ended, and its record is there`);
    if (kind === "PEER" && peers.get(`${name} ${sk}`) !== item.connectionId)
      found.push(`the ${name} ${sk} is said to be on ${item.connectionId}`);
    if (sk === "META" && pk.startsWith("S#") && item.duePk !== undefined && item.run === undefined)
      found.push(`${pk} is listed as due, and has nothing to do`);
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

/** Waits until the one-shot schedules have fired, `maxMs` at most. @returns the names of those that are left */
export async function untilFired(schedules: Schedules, maxMs: number): Promise<string[]> {
  const deadline = Date.now() + maxMs;
  const left = () => schedules.list().filter(({ expression }) => expression.startsWith("at("));
  while (left().length > 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 1000));
  return left().map(({ name }) => name);
}
