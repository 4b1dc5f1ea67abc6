import { timingSafeEqual } from "node:crypto";
import type { LambdaFunctionURLEvent, LambdaFunctionURLResult } from "aws-lambda";
import { type ModelBody, scriptedReply } from "../../bench/processes/scripted-reply.ts";

/** The scripted model as a Lambda function with an address. It answers callers that have its key. */
export async function handler({
  headers,
  body = "",
  isBase64Encoded,
}: LambdaFunctionURLEvent): Promise<LambdaFunctionURLResult> {
  if (!isEqual(headers.authorization ?? "", `Bearer ${process.env.MODEL_KEY}`))
    return { statusCode: 401, body: JSON.stringify({ error: { message: "the key is wrong" } }) };
  const text = isBase64Encoded ? Buffer.from(body, "base64").toString() : body;
  const { frames } = scriptedReply(JSON.parse(text) as ModelBody);
  return { statusCode: 200, headers: { "content-type": "text/event-stream" }, body: frames.join("") };
}

function isEqual(given: string, key: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(key)];
  return one.length === other.length && timingSafeEqual(one, other);
}
