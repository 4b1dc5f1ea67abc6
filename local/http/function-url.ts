import { randomUUID } from "node:crypto";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { ThrottledError } from "../lambda/host.ts";
import { browserFault } from "./browser-guard.ts";
import {
  decodeSegment,
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  json,
  startHttpEndpoint,
} from "./http-endpoint.ts";
import { isRecord } from "./json.ts";
import { requestTime } from "./request-time.ts";

export interface FunctionUrlOptions {
  /** Runs the function behind the URL. */
  invoke: (event: object) => Promise<unknown>;
  port?: number;
  /** Names of this endpoint's hosts besides those of this machine. */
  hosts?: readonly string[];
  /** Whether pages in a browser may send requests. Default: no. */
  pages?: boolean;
  /** Called with the error of a failed invocation. The caller gets status 502. */
  onError?: (error: unknown) => void;
}

/** Lambda's payload limit for request and response bodies, in bytes. */
const maxPayloadBytes = 6 * 1024 * 1024;

/**
 * A Lambda function URL with AuthType NONE: every request becomes an event in payload format 2.0.
 * https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html
 * @throws PortInUseError
 */
export async function startFunctionUrl(options: FunctionUrlOptions): Promise<Endpoint> {
  return startHttpEndpoint({
    handle: (request) => answerByFunction(request, options),
    maxBodyBytes: maxPayloadBytes,
    port: options.port,
    onError: options.onError,
  });
}

/** Answers one request of a function URL with what the function returns for it. */
async function answerByFunction(
  request: HttpRequest,
  { invoke, hosts, pages, onError }: FunctionUrlOptions,
): Promise<HttpResponse> {
  const fault = browserFault(request.headers, { hosts, pages });
  if (fault !== undefined) return json(403, { message: fault });
  try {
    return toResponse(await invoke(toEvent(request)));
  } catch (error) {
    onError?.(error);
    if (error instanceof ThrottledError) return json(429, { Message: error.message });
    return json(502, { message: "Internal Server Error" });
  }
}

function toEvent({ method, path, rawQuery, headers, body, sourceIp }: HttpRequest): object {
  const now = Date.now();
  const { cookie, ...others } = headers;
  const isText = isTextual(headers["content-type"]);
  const domainName = headers.host ?? "127.0.0.1";
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path.split("/").map(decodeSegment).join("/"),
    rawQueryString: rawQuery,
    ...(cookie ? { cookies: cookie.split(/; */) } : {}),
    headers: joinEach(Object.entries(others)),
    ...(rawQuery ? { queryStringParameters: joinEach(new URLSearchParams(rawQuery)) } : {}),
    requestContext: {
      accountId: "anonymous",
      apiId: "local",
      domainName,
      domainPrefix: domainName.split(".")[0],
      http: { method, path, protocol: "HTTP/1.1", sourceIp, userAgent: headers["user-agent"] ?? "" },
      requestId: randomUUID(),
      routeKey: "$default",
      stage: "$default",
      time: requestTime(now),
      timeEpoch: now,
    },
    ...(body.length > 0 ? { body: body.toString(isText ? "utf8" : "base64") } : {}),
    isBase64Encoded: body.length > 0 && !isText,
  };
}

/**
 * Whether a body is passed as text. Other bodies are base64, also forms and bodies without a content type.
 */
function isTextual(contentType = ""): boolean {
  const [type = ""] = contentType.toLowerCase().split(";");
  return /^(text\/.*|application\/(json|javascript|xml|.+\+(json|xml)))$/.test(type.trim());
}

/** Values of one name are joined by commas. */
function joinEach(entries: Iterable<[string, string | string[] | undefined]>): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const before = joined.get(name);
    joined.set(name, [...(before === undefined ? [] : [before]), ...[value].flat()].join(","));
  }
  return Object.fromEntries(joined);
}

/**
 * Converts a result. Without a status code it is the body of a 200.
 * @throws Error for a result that Lambda rejects
 */
function toResponse(result: unknown): HttpResponse {
  if (!isRecord(result) || !("statusCode" in result)) {
    return within(json(200, result ?? null, {}), typeof result === "string" ? result : undefined);
  }
  const { statusCode, headers, cookies, body, isBase64Encoded } = result;
  if (typeof statusCode !== "number" || statusCode < 200 || statusCode > 599) {
    throw new Error(`the function answered with the status ${statusCode}`);
  }
  if (isStream(body)) return { status: statusCode, headers: responseHeaders(headers), body };
  const text =
    typeof body === "string" || body === undefined || body === null ? (body ?? "") : JSON.stringify(body);
  return within({
    status: statusCode,
    headers: { ...responseHeaders(headers), ...cookieHeaders(cookies) },
    body: isBase64Encoded === true ? Buffer.from(text, "base64") : text,
  });
}

/** Whether a function with response streaming makes the body piece by piece. */
function isStream(body: unknown): body is AsyncIterable<string> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

/** @throws TypeError for header names or values that are invalid in HTTP */
function responseHeaders(headers: unknown): Record<string, string> {
  const lowerCase: Record<string, string> = { "content-type": "application/json" };
  for (const [name, value] of Object.entries(isRecord(headers) ? headers : {})) {
    validateHeaderName(name);
    validateHeaderValue(name, String(value));
    lowerCase[name.toLowerCase()] = String(value);
  }
  return lowerCase;
}

function cookieHeaders(cookies: unknown): Record<string, string[]> {
  const values = Array.isArray(cookies) ? cookies.map(String) : [];
  for (const value of values) validateHeaderValue("set-cookie", value);
  return values.length > 0 ? { "set-cookie": values } : {};
}

/** @throws Error when the body is above Lambda's limit */
function within(response: HttpResponse, body = response.body): HttpResponse {
  const isWhole = typeof body === "string" || Buffer.isBuffer(body);
  if (isWhole && Buffer.byteLength(body) > maxPayloadBytes)
    throw new Error("the function's response is above 6 MB");
  return { ...response, body };
}
