import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { requestTime } from "../http/request-time.ts";

/** The data of a connection that each event contains. */
export interface ConnectionFacts {
  connectionId: string;
  /** Epoch milliseconds. */
  connectedAt: number;
  sourceIp: string;
  userAgent: string | undefined;
  domainName: string;
  stage: string;
  apiId: string;
}

/** An event of a WebSocket API's Lambda proxy integration. */
export interface WebSocketEvent {
  requestContext: {
    routeKey: "$connect" | "$default" | "$disconnect";
    eventType: "CONNECT" | "MESSAGE" | "DISCONNECT";
    requestId: string;
    connectionId: string;
    [field: string]: unknown;
  };
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  queryStringParameters?: Record<string, string>;
  multiValueQueryStringParameters?: Record<string, string[]>;
  body?: string;
  isBase64Encoded: false;
}

/** Sixteen characters of the URL-safe alphabet that end in `=`, as API Gateway's are. */
export function newConnectionId(): string {
  return `${randomBytes(11).toString("base64url")}=`;
}

/** Names of headers keep the case in which the client sent them. */
export function connectEvent(facts: ConnectionFacts, request: IncomingMessage): WebSocketEvent {
  const { rawHeaders } = request;
  const headers = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""]] : [],
  );
  const multiValueHeaders = valuesOfEach(headers);
  const [, query = ""] = /\?(.*)$/s.exec(request.url ?? "") ?? [];
  const multiValueQuery = valuesOfEach(new URLSearchParams(query));
  return {
    headers: lastOfEach(multiValueHeaders),
    multiValueHeaders,
    ...(Object.keys(multiValueQuery).length > 0
      ? {
          queryStringParameters: lastOfEach(multiValueQuery),
          multiValueQueryStringParameters: multiValueQuery,
        }
      : {}),
    requestContext: contextOf(facts, "$connect", "CONNECT"),
    isBase64Encoded: false,
  };
}

export function messageEvent(facts: ConnectionFacts, body: string): WebSocketEvent {
  const requestContext = { ...contextOf(facts, "$default", "MESSAGE"), messageId: newConnectionId() };
  return { requestContext, body, isBase64Encoded: false };
}

export function disconnectEvent(facts: ConnectionFacts, code: number, reason: string): WebSocketEvent {
  const headers = { Host: facts.domainName, "x-api-key": "", "X-Forwarded-For": "", "x-restapi": "" };
  const requestContext = {
    ...contextOf(facts, "$disconnect", "DISCONNECT"),
    disconnectStatusCode: code,
    disconnectReason: reason || (code === 1005 ? "Client-side close frame status not set" : ""),
  };
  return { headers, requestContext, isBase64Encoded: false };
}

function contextOf(
  facts: ConnectionFacts,
  routeKey: WebSocketEvent["requestContext"]["routeKey"],
  eventType: WebSocketEvent["requestContext"]["eventType"],
): WebSocketEvent["requestContext"] {
  const requestId = randomUUID();
  const now = Date.now();
  return {
    routeKey,
    eventType,
    messageDirection: "IN",
    extendedRequestId: requestId,
    requestId,
    requestTime: requestTime(now),
    requestTimeEpoch: now,
    stage: facts.stage,
    connectedAt: facts.connectedAt,
    identity: { sourceIp: facts.sourceIp, ...(facts.userAgent ? { userAgent: facts.userAgent } : {}) },
    domainName: facts.domainName,
    connectionId: facts.connectionId,
    apiId: facts.apiId,
  };
}

/** All values of each name. */
function valuesOfEach(entries: Iterable<[string, string]>): Record<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of entries) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

function lastOfEach(values: Record<string, string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, all]) => [name, all.at(-1) ?? ""]));
}
