import { itemSize } from "../../local/items/item-validation.ts";
import type { StoredItem } from "../../local/items/keyed-items.ts";
import type { Bucket, Schedules, Table } from "../../shared/world/world.ts";
import { readUnits, writeUnits } from "../aws/emulators/dynamodb/consumed-capacity.ts";
import { delays } from "../bench/deployed/latency.ts";
import { prices } from "../bench/deployed/prices.ts";

/** What calls have cost: US dollars, milliseconds one after the other, and how many of each kind. */
export class Bill {
  usd = 0;
  ms = 0;
  readonly calls = new Map<string, number>();

  clear(ms = 0): void {
    this.usd = 0;
    this.ms = ms;
    this.calls.clear();
  }

  async pay<T>(name: string, usd: number, ms: number, answer: T | Promise<T>): Promise<T> {
    this.usd += usd;
    this.ms += ms;
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
    return answer;
  }
}

/** The table, whose calls are paid by the units that DynamoDB would charge. */
export function pricedTable(table: Table, bill: Bill): Table {
  const sized = (item: object) => itemSize(item as StoredItem);
  const written = async <T>(key: { pk: string; sk: string }, write: () => Promise<T>): Promise<T> => {
    const before = (await table.get(key)) as StoredItem | undefined;
    const answer = await write();
    const { table: own, indexes = {} } = writeUnits(before, (await table.get(key)) as StoredItem | undefined);
    const units = own + Object.values(indexes).reduce((sum, one) => sum + one, 0);
    return bill.pay("table.write", units * prices.dynamodbWrite, delays.dynamodbItem, answer);
  };
  return {
    async get(key) {
      const item = await table.get(key);
      const units = readUnits(item ? sized(item) : 0, true);
      return bill.pay("table.get", units * prices.dynamodbRead, delays.dynamodbItem, item);
    },
    async query(query) {
      const items = await table.query(query);
      const units = readUnits(
        items.reduce((sum, item) => sum + sized(item), 0),
        true,
      );
      return bill.pay("table.query", units * prices.dynamodbRead, delays.dynamodbQuery, items);
    },
    put: (item, condition) => written(item, () => table.put(item, condition)),
    update: (key, steps, condition) => written(key, () => table.update(key, steps, condition)),
    delete: (key, condition) => written(key, () => table.delete(key, condition)),
    queryIndex: (query) =>
      bill.pay("table.query", prices.dynamodbRead, delays.dynamodbQuery, table.queryIndex(query)),
  };
}

/** A listing is paid by the page of a thousand keys. */
const keysOfPage = 1000;

/** The bucket, whose calls are paid as S3 would charge. */
export function pricedBucket(bucket: Bucket, bill: Bill): Bucket {
  const got = <T>(answer: Promise<T>) => bill.pay("bucket.get", prices.s3Get, delays.s3Get, answer);
  const put = <T>(answer: Promise<T>) => bill.pay("bucket.put", prices.s3Put, delays.s3Get, answer);
  return {
    get: (key) => got(bucket.get(key)),
    getIfChanged: (key, etag) => got(bucket.getIfChanged(key, etag)),
    head: (key) => got(bucket.head(key)),
    getStream: (key) => got(bucket.getStream(key)),
    put: (...args) => put(bucket.put(...args)),
    putStream: (...args) => put(bucket.putStream(...args)),
    delete: (key) => bill.pay("bucket.delete", 0, delays.s3Get, bucket.delete(key)),
    async list(...args) {
      const found = await bucket.list(...args);
      const pages = Math.max(1, Math.ceil((found.objects.length + found.prefixes.length) / keysOfPage));
      for (let page = 1; page < pages; page++)
        await bill.pay("bucket.list", prices.s3Put, delays.s3Get, undefined);
      return bill.pay("bucket.list", prices.s3Put, delays.s3Get, found);
    },
  };
}

export function pricedSchedules(schedules: Schedules, bill: Bill): Schedules {
  return {
    once: (...args) =>
      bill.pay("schedules.once", prices.schedulerInvocation, delays.scheduler, schedules.once(...args)),
  };
}
