import { arn } from "../../../local/http/aws-account.ts";
import { AwsError } from "../../../local/http/aws-error.ts";
import {
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  startHttpEndpoint,
} from "../../../local/http/http-endpoint.ts";
import { type JsonRecord, parseRecord } from "../../../local/http/json.ts";
import type { ParameterOperation, Parameters } from "../../../local/parameter-store.ts";
import { type Authorize, callerOf, requireAccess } from "./access.ts";

export interface SsmOptions {
  parameters: Parameters;
  port?: number;
  authorize?: Authorize;
  onError?: (error: unknown) => void;
}

/**
 * The parameters of Systems Manager Parameter Store, in its AWS JSON 1.1 protocol: PutParameter, GetParameter,
 * GetParameters, GetParametersByPath, DeleteParameter, DeleteParameters.
 */
export function startSsm({ parameters, port, authorize, onError }: SsmOptions): Promise<Endpoint> {
  return startHttpEndpoint({
    handle: (request) => handle(request, parameters, authorize),
    maxBodyBytes: 1024 * 1024,
    port,
    onError,
  });
}

async function handle(
  request: HttpRequest,
  parameters: Parameters,
  authorize: Authorize | undefined,
): Promise<HttpResponse> {
  try {
    return respond(200, await perform(request, parameters, authorize));
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return respond(error.status, { __type: error.code, message: error.message });
  }
}

async function perform(
  request: HttpRequest,
  parameters: Parameters,
  authorize: Authorize | undefined,
): Promise<JsonRecord> {
  const [api, operation = ""] = String(request.headers["x-amz-target"] ?? "").split(".");
  const run =
    api === "AmazonSSM" && isOperation(parameters, operation) ? parameters.operations[operation] : undefined;
  if (run === undefined)
    throw new AwsError(400, "UnknownOperationException", `unknown operation ${operation}`);
  const accessKeyId = callerOf(request);
  const input = parseRecord(request.body.toString());
  if (input === undefined) throw new AwsError(400, "SerializationException", "the body is not a JSON object");
  for (const name of namesOf(input)) {
    const resource = arn("ssm", `parameter/${name.replace(/^\//, "")}`);
    requireAccess(authorize, { accessKeyId, action: `ssm:${operation}`, resource }, 400);
  }
  return run(input);
}

/** The names that IAM checks: the request's parameter names, or its path, or all parameters. */
function namesOf(input: JsonRecord): string[] {
  const given = Array.isArray(input.Names) ? input.Names : [input.Name ?? input.Path];
  const names = given.filter((name) => typeof name === "string");
  return names.length > 0 ? names : ["*"];
}

function respond(status: number, value: JsonRecord): HttpResponse {
  return { status, headers: { "content-type": "application/x-amz-json-1.1" }, body: JSON.stringify(value) };
}

function isOperation({ operations }: Parameters, name: string): name is ParameterOperation {
  return Object.hasOwn(operations, name);
}
