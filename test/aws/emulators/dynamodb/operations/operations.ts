import type { JsonRecord } from "../../../../../local/http/json.ts";
import { refuseLegacyFields } from "../request-fields.ts";
import { requireTable, type ServedTable } from "../served-table.ts";
import { batchGetItem, batchWriteItem } from "./batch-operations.ts";
import { deleteItem, getItem, putItem, updateItem } from "./item-operations.ts";
import { query } from "./query.ts";
import { scan } from "./scan.ts";
import { createTable, describeTable, describeTimeToLive, listTables } from "./table-operations.ts";

/**
 * Carries out one operation of DynamoDB's API.
 * @param input the request's JSON
 * @returns the answer's JSON
 * @throws AwsError, ValidationException
 */
export type Operation = (served: ServedTable, input: JsonRecord) => Promise<object>;

/** Every operation that the local DynamoDB has, by its name in the API. */
export const operations: Record<string, Operation> = {
  BatchGetItem: batchGetItem,
  BatchWriteItem: batchWriteItem,
  CreateTable: createTable,
  DeleteItem: onTable(deleteItem),
  DescribeTable: onTable(describeTable),
  DescribeTimeToLive: onTable(describeTimeToLive),
  GetItem: onTable(getItem),
  ListTables: listTables,
  PutItem: onTable(putItem),
  Query: onTable(query),
  Scan: onTable(scan),
  UpdateItem: onTable(updateItem),
};

/** The operation on the table that the request names. */
function onTable(operation: Operation): Operation {
  return async (served, input) => {
    requireTable(served, input);
    refuseLegacyFields(input);
    return await operation(served, input);
  };
}
