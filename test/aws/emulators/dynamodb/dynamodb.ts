import { randomUUID } from "node:crypto";
import { accountId, arn, region } from "../../../../local/http/aws-account.ts";
import { AwsError } from "../../../../local/http/aws-error.ts";
import {
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  startHttpEndpoint,
} from "../../../../local/http/http-endpoint.ts";
import { isRecord, type JsonRecord, parseRecord } from "../../../../local/http/json.ts";
import type { ItemStore } from "../../../../local/items/item-store.ts";
import { ValidationException } from "../../../../local/items/item-validation.ts";
import { type AccessRequest, type Authorize, callerOf, requireAccess } from "../access.ts";
import { errorBody, invalid, unreadable } from "./dynamodb-error.ts";
import { batchGetItem, batchWriteItem } from "./operations/batch-operations.ts";
import { deleteItem, getItem, putItem, updateItem } from "./operations/item-operations.ts";
import { query } from "./operations/query.ts";
import { scan } from "./operations/scan.ts";
import { createTable, describeTable, describeTimeToLive, listTables } from "./operations/table-operations.ts";
import { refuseLegacyFields } from "./request-fields.ts";
import { requireTable, type ServedTable } from "./served-table.ts";

export interface DynamoDBOptions {
  /** The items. The caller opens and closes it. */
  store: ItemStore;
  /** The table's name. */
  table: string;
  port?: number;
  authorize?: Authorize;
  /** Receives faults of the store, which the caller sees as InternalServerError. */
  onError?: (error: unknown) => void;
}

const maxRequestBytes = 16 * 1024 * 1024;

/**
 * Serves a store in DynamoDB's AWS JSON 1.0 protocol, as the application's one table. Binary values, sets and the
 * parameters from before expressions are refused with a ValidationException; other operations (transactions, PartiQL,
 * streams) with an UnknownOperationException.
 * @throws PortInUseError
 */
export async function startDynamoDB(options: DynamoDBOptions): Promise<Endpoint> {
  return await startHttpEndpoint({
    handle: (request) => handle(request, options),
    maxBodyBytes: maxRequestBytes,
    port: options.port,
    onError: options.onError,
  });
}

async function handle(request: HttpRequest, options: DynamoDBOptions): Promise<HttpResponse> {
  try {
    const answer = await perform(request, options);
    return respond(200, JSON.stringify(answer));
  } catch (error) {
    const { status, body } = failure(error, options.onError);
    return respond(status, body);
  }
}

/** @throws AwsError, ValidationException */
async function perform(request: HttpRequest, options: DynamoDBOptions): Promise<object> {
  const [version, name = ""] = String(request.headers["x-amz-target"] ?? "").split(".");
  if (request.method !== "POST" || version !== "DynamoDB_20120810") throw unknownOperation();
  const body = request.body.toString();
  const accessKeyId = callerOf(request);
  if (options.authorize !== undefined) {
    for (const resource of dynamoDBResources(`arn:aws:dynamodb:${region}:${accountId}`, body)) {
      const context = leadingKey(body);
      requireAccess(
        options.authorize,
        { accessKeyId, action: `dynamodb:${name}`, resource, ...context },
        400,
      );
    }
  }
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) throw unknownOperation();
  const input = parseRecord(body);
  if (input === undefined) throw unreadable("The request is not a JSON object");
  const { store, table } = options;
  const served: ServedTable = { name: table, arn: arn("dynamodb", `table/${table}`), store };
  return await operation(served, input);
}

function unknownOperation(): AwsError {
  return new AwsError(400, "UnknownOperationException", "The local cloud does not have this operation");
}

function failure(error: unknown, onError: DynamoDBOptions["onError"]): { status: number; body: string } {
  // DynamoDB answers 400 where other services answer 403.
  if (error instanceof AwsError) return { status: 400, body: errorBody(error) };
  if (error instanceof ValidationException) return { status: 400, body: errorBody(invalid(error.message)) };
  onError?.(error);
  return { status: 500, body: errorBody(new AwsError(500, "InternalServerError", "internal error")) };
}

function respond(status: number, body: string): HttpResponse {
  const headers = { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": randomUUID() };
  return { status, headers, body };
}

/**
 * The ARNs that an operation touches, as IAM checks them: the table, or the index that a query or scan names; each
 * table of a batch operation; `*` for operations on no table.
 * @param accountPrefix `arn:aws:dynamodb:{region}:{account}`
 * @param body the operation's input as JSON text; what is no JSON object touches no table and fails later
 */
function dynamoDBResources(accountPrefix: string, body: string): string[] {
  const input = parseRecord(body) ?? {};
  const tableArn = (name: string) => (name.startsWith("arn:") ? name : `${accountPrefix}:table/${name}`);
  const named = isRecord(input.RequestItems) ? Object.keys(input.RequestItems) : [];
  if (named.length > 0) return named.map(tableArn);
  if (typeof input.TableName !== "string") return ["*"];
  const table = tableArn(input.TableName);
  return [typeof input.IndexName === "string" ? `${table}/index/${input.IndexName}` : table];
}

/** The condition key with the partition key of the request's item; empty for other requests. */
function leadingKey(body: string): Pick<AccessRequest, "context"> {
  const { Key, Item } = parseRecord(body) ?? {};
  const item = isRecord(Key) ? Key : Item;
  const value = isRecord(item) && isRecord(item.pk) ? item.pk.S : undefined;
  return typeof value === "string" ? { context: { "dynamodb:LeadingKeys": value } } : {};
}

/**
 * Carries out one operation of DynamoDB's API.
 * @param input the request's JSON
 * @returns the answer's JSON
 * @throws AwsError, ValidationException
 */
type Operation = (served: ServedTable, input: JsonRecord) => Promise<object>;

/** Every operation that the local DynamoDB has, by its name in the API. */
const operations: Record<string, Operation> = {
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
