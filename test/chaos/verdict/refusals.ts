import type { Draw } from "../draw.ts";
import type { AwsCall } from "../faults/aws-call.ts";

export interface RawResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** A throttling response or server error of a service, which the SDK retries. */
export function refusalOf(call: AwsCall, draw: Draw): RawResponse {
  switch (call.service) {
    case "dynamodb":
      return draw.chance(0.5)
        ? dynamoError(
            400,
            "ProvisionedThroughputExceededException",
            "The level of configured throughput is exceeded",
          )
        : dynamoError(500, "InternalServerError", "The request could not be processed");
    case "s3":
      return xml(503, draw.pick(["SlowDown", "ServiceUnavailable"]));
    case "lambda":
      return draw.chance(0.5)
        ? rest(429, "TooManyRequestsException", { Type: "User", Message: "Rate Exceeded." })
        : rest(500, "ServiceException", { Type: "Service", Message: "internal error" });
    case "scheduler":
      return draw.chance(0.5)
        ? rest(429, "ThrottlingException", { Message: "Rate exceeded" })
        : rest(500, "InternalServerException", { Message: "internal error" });
    case "ssm":
      return json(400, "application/x-amz-json-1.1", {
        __type: "ThrottlingException",
        message: "Rate exceeded",
      });
    case "connections":
      return draw.chance(0.5)
        ? rest(429, "LimitExceededException", { message: "Limit exceeded" })
        : rest(500, "InternalServerError", { message: "Internal server error" });
  }
}

function dynamoError(status: number, name: string, message: string): RawResponse {
  const __type = `com.amazonaws.dynamodb.v20120810#${name}`;
  return json(status, "application/x-amz-json-1.0", { __type, message });
}

function rest(status: number, name: string, body: object): RawResponse {
  const answer = json(status, "application/json", body);
  return { ...answer, headers: { ...answer.headers, "x-amzn-errortype": name } };
}

function xml(status: number, code: string): RawResponse {
  const text = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>Please reduce your request rate.</Message></Error>`;
  return { status, headers: { "content-type": "application/xml" }, body: Buffer.from(text) };
}

function json(status: number, type: string, body: object): RawResponse {
  return { status, headers: { "content-type": type }, body: Buffer.from(JSON.stringify(body)) };
}
