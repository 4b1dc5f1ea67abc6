import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { Authorize } from "../http/access.ts";
import { accountId, region } from "../http/account.ts";
import { AwsError, callerOf, requireAccess } from "../http/aws-error.ts";
import {
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  startHttpEndpoint,
} from "../http/http-endpoint.ts";
import { dynamoDBResources } from "./dynamodb-access.ts";
import { startExpiry } from "./dynamodb-expiry.ts";
import { ensureTable } from "./dynamodb-schema.ts";
import { type DynamoDBStore, openDynamoDBStore } from "./dynamodb-store.ts";

export interface DynamoDBOptions {
  /** Folder of the items, made when absent. */
  dir: string;
  /** Created when absent, with the application's keys and indexes. */
  table: string;
  port?: number;
  authorize?: Authorize;
  /** Pause between two passes over the table for expired items, in milliseconds; one minute by default. */
  expiryMs?: number;
  /** Told of faults in the store, which the caller sees as InternalServerError. */
  onError?: (error: unknown) => void;
}

const maxRequestBytes = 16 * 1024 * 1024;

/**
 * DynamoDB on disk, spoken to in its AWS JSON 1.0 protocol. What the store lacks (transactions, PartiQL, streams)
 * is UnknownOperationException.
 * @throws StoreLockedError, PortInUseError
 */
export async function startDynamoDB(options: DynamoDBOptions): Promise<Endpoint> {
  await mkdir(options.dir, { recursive: true });
  const store = await openDynamoDBStore(options.dir, (reason) => options.onError?.(new Error(reason)));
  try {
    await ensureTable(store, options.table);
    const endpoint = await startHttpEndpoint({
      handle: (request) => handle(request, store, options.authorize),
      maxBodyBytes: maxRequestBytes,
      port: options.port,
      onError: options.onError,
    });
    const stopExpiry = startExpiry(store, options.table, options.expiryMs ?? 60_000);
    const close = async () => {
      stopExpiry();
      await endpoint.close();
      await store.close();
    };
    return { ...endpoint, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function handle(
  request: HttpRequest,
  store: DynamoDBStore,
  authorize: Authorize | undefined,
): Promise<HttpResponse> {
  const [version, operation = ""] = String(request.headers["x-amz-target"] ?? "").split(".");
  if (request.method !== "POST" || version !== "DynamoDB_20120810") {
    return respond(400, JSON.stringify({ __type: "com.amazon.coral.service#UnknownOperationException" }));
  }
  const body = request.body.toString();
  try {
    const accessKeyId = callerOf(request);
    if (authorize !== undefined) {
      for (const resource of dynamoDBResources(`arn:aws:dynamodb:${region}:${accountId}`, body)) {
        requireAccess(authorize, { accessKeyId, action: `dynamodb:${operation}`, resource }, 400);
      }
    }
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    const { code, message } = error;
    return respond(400, JSON.stringify({ __type: `com.amazon.coral.service#${code}`, message }));
  }
  const answer = await store.call(operation, body);
  return respond(answer.status, answer.body);
}

function respond(status: number, body: string): HttpResponse {
  const headers = { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": randomUUID() };
  return { status, headers, body };
}
