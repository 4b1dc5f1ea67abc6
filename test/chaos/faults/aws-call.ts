import { isRecord, parseRecord } from "../../../local/http/json.ts";

/** The services whose endpoints the functions call. */
export const services = ["dynamodb", "s3", "lambda", "scheduler", "ssm", "connections"] as const;
export type Service = (typeof services)[number];

/** A request to AWS, described by its own content. */
export interface AwsCall {
  service: Service;
  /** Name in the API, e.g. `UpdateItem`. */
  operation: string;
  /** The call without parts that differ between runs: `dynamodb UpdateItem S# META (epoch,leaseUntil,owner)`. */
  label: string;
  /** The session that the request names, if any. */
  sessionKey?: string;
  /** The same for all attempts of one SDK call. */
  invocationId: string;
  /** The SDK's attempt, from 1. */
  attempt: number;
  /** The request's JSON; undefined for other bodies. */
  input?: Record<string, unknown>;
}

export interface RawRequest {
  method: string;
  /** Includes the query. */
  url: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Identifies a request. Never throws: an unknown one keeps its method and path. */
export function readAwsCall(service: Service, request: RawRequest): AwsCall {
  const input = parseRecord(request.body.toString("utf8"));
  const named = describe[service](request, input ?? {});
  const attempt = /attempt=(\d+)/.exec(String(request.headers["amz-sdk-request"] ?? ""))?.[1];
  return {
    service,
    operation: named.operation,
    label: [service, named.operation, ...named.target].join(" "),
    ...(named.sessionKey === undefined ? {} : { sessionKey: named.sessionKey }),
    invocationId: String(request.headers["amz-sdk-invocation-id"] ?? ""),
    attempt: Number(attempt ?? 1),
    ...(input ? { input } : {}),
  };
}

interface Named {
  operation: string;
  target: string[];
  sessionKey?: string;
}

const describe: Record<Service, (request: RawRequest, input: Record<string, unknown>) => Named> = {
  dynamodb: describeTableCall,
  s3: describeObjectCall,
  lambda: ({ url }, input) => {
    const name = decodeURIComponent(/functions\/([^/]+)\//.exec(url)?.[1] ?? "")
      .split(":")
      .at(-1);
    return { operation: "Invoke", target: [String(name)], ...ofSession(input.sessionKey) };
  },
  scheduler: ({ method }) => ({
    operation: method === "POST" ? "CreateSchedule" : `${method} schedule`,
    target: [],
  }),
  ssm: ({ headers }, { Name }) => ({ operation: operationOf(headers), target: [String(Name ?? "")] }),
  connections: ({ method }, frame) => ({ operation: method, target: [frameName(frame)] }),
};

function operationOf(headers: RawRequest["headers"]): string {
  return String(headers["x-amz-target"] ?? "").split(".")[1] ?? "";
}

function ofSession(sessionKey: unknown): { sessionKey?: string } {
  return typeof sessionKey === "string" ? { sessionKey } : {};
}

/** The key of an item in DynamoDB's JSON; undefined for a request without one. */
export function itemKey(input: Record<string, unknown>): { pk: string; sk: string } | undefined {
  const key = isRecord(input.Key) ? input.Key : input.Item;
  if (!isRecord(key) || !isRecord(key.pk) || !isRecord(key.sk)) return undefined;
  return { pk: String(key.pk.S), sk: String(key.sk.S) };
}

function describeTableCall({ headers }: RawRequest, input: Record<string, unknown>): Named {
  const values = isRecord(input.ExpressionAttributeValues) ? input.ExpressionAttributeValues : {};
  const queried = isRecord(values[":pk"]) ? String(values[":pk"].S) : "";
  const { pk, sk } = itemKey(input) ?? { pk: queried, sk: "" };
  const sessionKey = pk.startsWith("S#") ? pk.slice(2) : undefined;
  const index = typeof input.IndexName === "string" ? [`index ${input.IndexName}`] : [];
  const prefix = pk.startsWith("PEER#") ? pk : pk.replace(/#.*/, "#");
  const names = Object.values(isRecord(input.ExpressionAttributeNames) ? input.ExpressionAttributeNames : {});
  // Names can contain ids (`recent.{id}`): only attributes, which are plain words, distinguish one kind of write from
  // another.
  const attributes = names.filter((name) => /^[a-zA-Z]+$/.test(String(name))).sort();
  const written = attributes.length > 0 ? [`(${attributes.join(",")})`] : [];
  return {
    operation: operationOf(headers),
    target: [...index, prefix, sk.replace(/#.*/, "#"), ...written].filter((part) => part !== ""),
    ...ofSession(sessionKey),
  };
}

function describeObjectCall({ method, url }: RawRequest): Named {
  const [path = "", query = ""] = url.split("?");
  const parameters = new URLSearchParams(query);
  // Names of daily files contain the day.
  const key = decodeURIComponent(path.split("/").slice(2).join("/")).replace(/\d{4}-\d\d-\d\d/, "{day}");
  if (parameters.has("list-type"))
    return { operation: "ListObjectsV2", target: [parameters.get("prefix") ?? ""] };
  const verbs: Record<string, string> = { GET: "GetObject", PUT: "PutObject", DELETE: "DeleteObject" };
  return { operation: verbs[method] ?? `${method}Object`, target: [key] };
}

/** A frame posted to a connection: `chat final`, `tool.invoke`, `res`. */
function frameName(frame: Record<string, unknown>): string {
  if (frame.type !== "evt") return String(frame.type ?? "");
  const state = isRecord(frame.payload) ? frame.payload.state : undefined;
  return state === undefined ? String(frame.event) : `${frame.event} ${state}`;
}
