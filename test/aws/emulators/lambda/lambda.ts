import { createHash, randomBytes, randomUUID } from "node:crypto";
import { AwsError } from "../../../../local/http/aws-error.ts";
import {
  decodeSegment,
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  json,
  startHttpEndpoint,
} from "../../../../local/http/http-endpoint.ts";
import type { AsyncInvocations } from "../../../../local/lambda/async-invocations.ts";
import {
  FunctionError,
  type FunctionHost,
  functionArn,
  functionNameOf,
  ThrottledError,
} from "../../../../local/lambda/host.ts";
import { type Authorize, callerOf, requireAccess } from "../access.ts";

export interface LambdaOptions {
  host: FunctionHost;
  invocations: AsyncInvocations;
  /** Whether a function may be in one chain of invocations as often as it likes. Default: none may. */
  invokesItself?: (functionName: string) => boolean;
  port?: number;
  authorize?: Authorize;
  onError?: (error: unknown) => void;
}

/** Maximum size of a synchronous request or response payload, in bytes. */
const maxSyncPayloadBytes = 6 * 1024 * 1024;
/** Maximum size of an asynchronous event, in bytes. */
const maxAsyncPayloadBytes = 1024 * 1024;

/**
 * Lambda's Invoke API: RequestResponse, Event and DryRun, by function name or ARN. A chain of functions that invoke
 * each other ends when one of them is in it for the 17th time.
 */
export async function startLambda(options: LambdaOptions): Promise<Endpoint> {
  return startHttpEndpoint({
    handle: (request) => handle(request, options),
    maxBodyBytes: maxSyncPayloadBytes + 1024,
    port: options.port,
    onError: options.onError,
  });
}

async function handle(request: HttpRequest, options: LambdaOptions): Promise<HttpResponse> {
  try {
    return await invoke(request, options);
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    const { status, code, message } = error;
    return json(status, { Type: "User", Message: message }, { "x-amzn-errortype": code });
  }
}

async function invoke(
  request: HttpRequest,
  { host, invocations, invokesItself, authorize }: LambdaOptions,
): Promise<HttpResponse> {
  const reference = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.path)?.[1];
  if (request.method !== "POST" || reference === undefined) {
    throw new AwsError(
      404,
      "UnknownOperationException",
      `unknown operation ${request.method} ${request.path}`,
    );
  }
  const accessKeyId = callerOf(request);
  const name = functionNameOf(decodeSegment(reference));
  const resource = functionArn(name);
  requireAccess(authorize, { accessKeyId, action: "lambda:InvokeFunction", resource });
  if (!host.functions.includes(name)) {
    throw new AwsError(404, "ResourceNotFoundException", `Function not found: ${resource}`);
  }
  const type = request.headers["x-amz-invocation-type"] ?? "RequestResponse";
  const limit = type === "Event" ? maxAsyncPayloadBytes : maxSyncPayloadBytes;
  if (request.body.length > limit) {
    const message = `${request.body.length} byte payload is too large for the ${type} invocation type (limit ${limit} bytes)`;
    throw new AwsError(413, "RequestTooLargeException", message);
  }
  const event = parsePayload(request.body);
  if (type === "DryRun") return { status: 204 };
  const { header, count } = countInLineage(traceOf(request), name);
  const isLoop = count > longestChain && invokesItself?.(name) !== true;
  if (type === "Event") {
    if (isLoop) invocations.refuse(name, event, recursion(name));
    else void invocations.invoke(name, event, header);
    return { status: 202, headers: { "x-amzn-requestid": randomUUID() } };
  }
  if (isLoop) throw recursion(name);
  return respond(host, { name, event, header });
}

function traceOf({ headers }: HttpRequest): string | undefined {
  const header = headers["x-amzn-trace-id"];
  return typeof header === "string" ? header : undefined;
}

function recursion(name: string): AwsError {
  const message = `Lambda has detected that ${functionArn(name)} invokes itself, and stopped it`;
  return new AwsError(400, "RecursiveInvocationException", message);
}

async function respond(
  host: FunctionHost,
  { name, event, header }: { name: string; event: unknown; header: string },
): Promise<HttpResponse> {
  const headers = { "x-amz-executed-version": "$LATEST", "x-amzn-requestid": randomUUID() };
  try {
    return json(200, await host.invoke(name, event, header), headers);
  } catch (error) {
    if (error instanceof ThrottledError) throw new AwsError(429, "TooManyRequestsException", error.message);
    if (!(error instanceof FunctionError)) throw error;
    const { errorType, message: errorMessage, trace } = error;
    return json(200, { errorType, errorMessage, trace }, { ...headers, "x-amz-function-error": "Unhandled" });
  }
}

function parsePayload(body: Buffer): unknown {
  if (body.length === 0) return {};
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    throw new AwsError(
      400,
      "InvalidRequestContentException",
      `Could not parse request body into json: ${error}`,
    );
  }
}

/** Invocations of one function in a chain that Lambda still runs; it stops the chain at the next. */
const longestChain = 16;

/**
 * The trace header of an invocation that a function asks for: that of the asking function, with the invoked function
 * counted once more. The AWS SDK sends a function's own header with each of its calls.
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
 * @param header X-Amzn-Trace-Id of the request, `Root=…;Parent=…;Sampled=0;Lineage={function's hash}:{count}|…`
 * @returns the header, and how often the function is in the chain by now
 */
export function countInLineage(
  header: string | undefined,
  functionName: string,
): { header: string; count: number } {
  const fields = new Map((header ?? newTrace()).split(";").map(pairOf));
  const lineage = new Map((fields.get("Lineage") ?? "").split("|").filter(Boolean).map(countOf));
  const id = createHash("sha256").update(functionName).digest("hex").slice(0, 8);
  const count = (lineage.get(id) ?? 0) + 1;
  lineage.set(id, count);
  fields.set("Lineage", [...lineage].map(([of, times]) => `${of}:${times}`).join("|"));
  return { header: [...fields].map(([name, value]) => `${name}=${value}`).join(";"), count };
}

function newTrace(): string {
  const startedAt = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${startedAt}-${randomBytes(12).toString("hex")};Parent=${randomBytes(8).toString("hex")};Sampled=0`;
}

function pairOf(field: string): [string, string] {
  const [name = "", ...value] = field.split("=");
  return [name, value.join("=")];
}

function countOf(entry: string): [string, number] {
  const [id = "", count] = entry.split(":");
  return [id, Number(count) || 0];
}
