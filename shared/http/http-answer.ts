import type { LambdaFunctionURLEvent } from "aws-lambda";

/** The answer of a function to an HTTP request (payload format 2.0). A function URL with streaming sends each piece at once. */
export interface HttpAnswer {
  statusCode: number;
  headers: Record<string, string>;
  /** Leaving the loop early ends what makes the pieces. */
  body: string | AsyncIterable<string>;
}

/** An answer as JSON. */
export function jsonAnswer(
  statusCode: number,
  value: unknown,
  headers: Record<string, string> = {},
): HttpAnswer {
  return {
    statusCode,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}

/** The text of a request's body. */
export function bodyText({ body = "", isBase64Encoded }: LambdaFunctionURLEvent): string {
  return isBase64Encoded ? Buffer.from(body, "base64").toString("utf8") : body;
}

/** The token of a request's Authorization header; undefined without one. */
export function bearerOf({ headers }: Pick<LambdaFunctionURLEvent, "headers">): string | undefined {
  return /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
}
