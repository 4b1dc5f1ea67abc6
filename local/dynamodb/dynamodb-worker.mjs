/**
 * The thread in which DynamoDB's items live: dynalite's actions over its LevelDB, without its HTTP server. In a
 * thread of its own an exception that dynalite throws from a callback ends this thread, not the process.
 *
 * Receives `{id, operation, body}` and answers `{id, status, body}`, both bodies JSON text. Sends `{ready: true}` or
 * `{failed: {code, message}}` first, and ends after `{close: true}`. Plain JavaScript, because threads start without
 * the loader that the process may run TypeScript with.
 */
import { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";

const require = createRequire(import.meta.url);
const db = require("dynalite/db");
const validations = require("dynalite/validations");

const coral = "com.amazon.coral.service";

const operations = new Set([
  "BatchGetItem",
  "BatchWriteItem",
  "CreateTable",
  "DeleteItem",
  "DeleteTable",
  "DescribeTable",
  "DescribeTimeToLive",
  "GetItem",
  "ListTables",
  "PutItem",
  "Query",
  "Scan",
  "UpdateItem",
]);

// Before the actions are loaded: they call these through the module's exports.
const pendingIndexWrites = writeIndexesWithTheItem();
countSizesInUtf8();

const store = db.create({ path: workerData.path, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
commitItemsWithTheirIndexes(store, pendingIndexWrites);

/**
 * dynalite writes an item and its index rows one after the other, so a crash in between leaves an index that
 * disagrees with its table. Here the index writes wait, by the item's key, for the item's own write: dynalite holds
 * a lock on that key between the two.
 */
function writeIndexesWithTheItem() {
  const pending = new Map();
  db.updateIndexes = (_store, table, existing, item, done) => {
    if (!existing && !item) return done();
    const writes = [];
    for (const type of ["Local", "Global"]) {
      const indexes = table[`${type}SecondaryIndexes`] ?? [];
      const prefix = (index) => `index-${type.toLowerCase()}~${table.TableName}~${index}~`;
      const { puts, deletes } = db.getIndexActions(indexes, existing, item, table);
      for (const { index, key } of deletes) writes.push({ type: "del", key: prefix(index) + key });
      for (const { index, key, item: row } of puts) {
        writes.push({ type: "put", key: prefix(index) + key, value: row });
      }
    }
    pending.set(itemKey(table.TableName, db.createKey(item ?? existing, table)), writes);
    done();
  };
  return pending;
}

/** One LevelDB batch, which is atomic, for an item and its index rows. */
function commitItemsWithTheirIndexes(store, pending) {
  const getItemDb = store.getItemDb;
  const commit = (write, done) => {
    const writes = pending.get(write.key) ?? [];
    pending.delete(write.key);
    store.db.batch([...writes, write], done);
  };
  store.getItemDb = (table) => {
    const itemDb = getItemDb(table);
    itemDb.put = (key, value, done) => commit({ type: "put", key: itemKey(table, key), value }, done);
    itemDb.del = (key, done) => commit({ type: "del", key: itemKey(table, key) }, done);
    return itemDb;
  };
}

/** The prefix that dynalite's store gives the items of a table. */
function itemKey(table, key) {
  return `item-${table}~${key}`;
}

/** dynalite counts an item's size in UTF-16 units; DynamoDB's 400 KB are UTF-8 bytes. */
function countSizesInUtf8() {
  const itemSize = db.itemSize;
  db.itemSize = (item, ...rest) => itemSize(item, ...rest) + beyondUtf16(item);
}

function beyondUtf16(attributes) {
  let extra = 0;
  for (const [name, value] of Object.entries(attributes)) extra += excess(name) + excessOfValue(value);
  return extra;
}

function excessOfValue({ S, SS, L, M }) {
  if (S !== undefined) return excess(S);
  if (SS !== undefined) return SS.reduce((sum, text) => sum + excess(text), 0);
  if (L !== undefined) return L.reduce((sum, value) => sum + excessOfValue(value), 0);
  return M === undefined ? 0 : beyondUtf16(M);
}

function excess(text) {
  return Buffer.byteLength(text) - text.length;
}

/** Calls `answer(status, value)` once. */
function perform(operation, body, answer) {
  if (!operations.has(operation)) return answer(400, { __type: `${coral}#UnknownOperationException` });
  let data = parseObject(body);
  if (data === undefined) return answer(400, { __type: `${coral}#SerializationException` });
  const action = validations.toLowerFirst(operation);
  const { types, custom } = require(`dynalite/validations/${action}`);
  try {
    data = validations.checkTypes(data, types);
    validations.checkValidations(data, types, custom, store);
  } catch (error) {
    if (error.statusCode) return answer(error.statusCode, error.body);
    return answer(500, { __type: `${coral}#InternalServerError`, message: String(error) });
  }
  require(`dynalite/actions/${action}`)(store, data, (error, result) => {
    if (error?.statusCode) return answer(error.statusCode, error.body);
    if (error) throw error;
    answer(200, result);
  });
}

function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function end(exitCode) {
  await store.db.close();
  process.exit(exitCode);
}

// Whatever dynalite has thrown, the request that caused it never gets its answer and may hold a lock: start over.
process.on("uncaughtException", (error) => {
  parentPort.postMessage({ crashed: error?.stack ?? String(error) });
  void end(1);
});

parentPort.on("message", ({ id, operation, body, close }) => {
  if (close) return void end(0);
  perform(operation, body, (status, value) => {
    parentPort.postMessage({ id, status, body: JSON.stringify(value ?? {}) });
  });
});

store.db.open().then(
  () => parentPort.postMessage({ ready: true }),
  (error) => {
    const { code, message } = error.cause ?? error;
    parentPort.postMessage({ failed: { code, message } });
  },
);
