import { memoryMegabytes } from "../../infra/memory.ts";
import { readUnits, writeUnits } from "../../local/dynamodb/consumed-capacity.ts";
import { itemSize } from "../../local/items/item-validation.ts";
import type { StoredItem } from "../../local/items/keyed-items.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import type { Table, World } from "../../shared/world/world.ts";
import { delays } from "../bench/deployed/latency.ts";
import { prices } from "../bench/deployed/prices.ts";
import type { HeartbeatBench } from "./heartbeat-bench.ts";

/** How long the model answers, as in `npm run bench`. Milliseconds. */
const modelMs = 3000;
/** Loading a cold function's code. Milliseconds. */
const coldMs = 150;
/** What Lambda itself writes for an invocation, bytes. */
const platformLogBytes = 350;

const bill = { usd: 0, ms: 0 };
const paid = async <T>(usd: number, ms: number, answer: T | Promise<T>): Promise<T> => {
  bill.usd += usd;
  bill.ms += ms;
  return answer;
};

/** The table, whose calls are paid by the units that DynamoDB would charge. */
function pricedTable(table: Table): Table {
  const sized = (item: object) => itemSize(item as StoredItem);
  const written = async <T>(key: { pk: string; sk: string }, write: () => Promise<T>): Promise<T> => {
    const before = (await table.get(key)) as StoredItem | undefined;
    const answer = await write();
    const { table: own, indexes = {} } = writeUnits(before, (await table.get(key)) as StoredItem | undefined);
    const units = own + Object.values(indexes).reduce((sum, one) => sum + one, 0);
    return paid(units * prices.dynamodbWrite, delays.dynamodbItem, answer);
  };
  return {
    async get(key) {
      const item = await table.get(key);
      return paid(readUnits(item ? sized(item) : 0, true) * prices.dynamodbRead, delays.dynamodbItem, item);
    },
    async query(query) {
      const items = await table.query(query);
      const bytes = items.reduce((sum, item) => sum + sized(item), 0);
      return paid(readUnits(bytes, true) * prices.dynamodbRead, delays.dynamodbQuery, items);
    },
    put: (item, condition) => written(item, () => table.put(item, condition)),
    update: (key, steps, condition) => written(key, () => table.update(key, steps, condition)),
    delete: (key, condition) => written(key, () => table.delete(key, condition)),
    queryIndex: (query) => paid(prices.dynamodbRead, delays.dynamodbQuery, table.queryIndex(query)),
  };
}

function priced(world: World): World {
  const { bucket, schedules } = world;
  return {
    ...world,
    table: pricedTable(world.table),
    bucket: {
      ...bucket,
      get: (key) => paid(prices.s3Get, delays.s3Get, bucket.get(key)),
      getIfChanged: (key, etag) => paid(prices.s3Get, delays.s3Get, bucket.getIfChanged(key, etag)),
      list: (...args) => paid(prices.s3Put, delays.s3Get, bucket.list(...args)),
    },
    schedules: {
      once: (...args) => paid(prices.schedulerInvocation, delays.scheduler, schedules.once(...args)),
    },
  };
}

/**
 * What the timer and the agent cost for some work, without the model, in US dollars: cold functions, and every call after
 * the other.
 * @param work one invocation of the timer, and of the agent when the model is asked
 */
export async function costOf(bench: HeartbeatBench, work: () => Promise<void>): Promise<number> {
  let logged = 0;
  const restore = setLogOutput((line) => {
    logged += Buffer.byteLength(line) + 1;
  });
  Object.assign(bill, { usd: 0, ms: coldMs });
  const asked = bench.model.requests.length;
  const { wrap } = bench;
  bench.wrap = priced;
  try {
    await work();
  } finally {
    bench.wrap = wrap;
    restore();
  }
  const isAsked = bench.model.requests.length > asked;
  const memory = memoryMegabytes[isAsked ? "agent" : "timer"] / 1024;
  const invocations = isAsked ? 2 : 1;
  const ms = bill.ms + (isAsked ? modelMs + coldMs : 0);
  const lambda = invocations * prices.lambdaInvocation + (ms / 1000) * memory * prices.lambdaGbSecond;
  return bill.usd + lambda + ((logged + invocations * platformLogBytes) / 1e9) * prices.logsGb;
}
