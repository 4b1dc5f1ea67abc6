import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { memoryMegabytes } from "../../infra/memory.ts";
import { readUnits, writeUnits } from "../../local/dynamodb/consumed-capacity.ts";
import { itemSize } from "../../local/items/item-validation.ts";
import type { StoredItem } from "../../local/items/keyed-items.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import type { Table, World } from "../../shared/world/world.ts";
import { delays } from "../bench/deployed/latency.ts";
import { prices } from "../bench/deployed/prices.ts";
import { HeartbeatBench } from "./heartbeat-bench.ts";

/** Beats a month by the default settings: each half hour from 8 to 23. */
const beatsPerMonth = 30 * 30;
/** How long the model answers, as in `npm run bench`. Milliseconds. */
const modelMs = 3000;
/** Loading a cold function's code. Milliseconds. */
const coldMs = 150;
/** What Lambda itself writes for an invocation, bytes. */
const platformLogBytes = 350;

const costs = () => readFileSync("docs/costs.md", "utf8");

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
afterAll(() => bench.close());

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

/** What one beat costs, without the model, in US dollars: cold functions, and every call after the other. */
async function costOfBeat(): Promise<number> {
  let logged = 0;
  const restore = setLogOutput((line) => {
    logged += Buffer.byteLength(line) + 1;
  });
  Object.assign(bill, { usd: 0, ms: coldMs });
  const asked = bench.model.requests.length;
  await bench.beat();
  restore();
  const isAsked = bench.model.requests.length > asked;
  const memory = memoryMegabytes[isAsked ? "agent" : "timer"] / 1024;
  const invocations = isAsked ? 2 : 1;
  const ms = bill.ms + (isAsked ? modelMs + coldMs : 0);
  const lambda = invocations * prices.lambdaInvocation + (ms / 1000) * memory * prices.lambdaGbSecond;
  return bill.usd + lambda + ((logged + invocations * platformLogBytes) / 1e9) * prices.logsGb;
}

it("a month costs what docs/costs.md says: less than half a cent while there is nothing to look after", async () => {
  await bench.renew("2026-05-05T05:00:00Z");
  bench.wrap = priced;
  await bench.call("agent.init");
  await bench.state.bucket.delete("agents/main/BOOTSTRAP.md");
  await bench.call("heartbeat.start");
  await bench.beat();
  const skipped = (await costOfBeat()) * beatsPerMonth;
  await bench.write("HEARTBEAT.md", "In the morning, tell me what is in the calendar today.");
  await bench.beat();
  const asked = (await costOfBeat()) * beatsPerMonth;
  bench.wrap = (world) => world;
  expect(costs()).toContain(`$${skipped.toFixed(3)}`);
  expect(costs()).toContain(`$${asked.toFixed(2)}`);
  expect(skipped).toBeLessThan(0.01);
});

it("a day's beats see each other, and what each sends to the model is what docs/costs.md says", async () => {
  await bench.renew("2026-05-05T05:00:00Z", { "session.defaultResetPolicy.mode": "daily" });
  await bench.call("agent.init");
  await bench.state.bucket.delete("agents/main/BOOTSTRAP.md");
  await bench.write("HEARTBEAT.md", "In the morning, tell me what is in the calendar today.");
  await bench.call("heartbeat.start");
  for (let count = 0; count < 30; count++) await bench.beat();
  const tokens = bench.model.requests.map(({ body }) => JSON.stringify(body).length / 4);
  const average = tokens.reduce((sum, one) => sum + one, 0) / tokens.length;
  const documented = Number(/about ([\d,]+) tokens a beat/.exec(costs())?.[1]?.replace(",", ""));
  expect(tokens).toHaveLength(30);
  // Tools come and go: the page is told of a change that matters.
  expect(average / documented).toBeGreaterThan(0.7);
  expect(average / documented).toBeLessThan(1.3);
});
