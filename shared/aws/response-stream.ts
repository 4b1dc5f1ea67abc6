import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Context, LambdaFunctionURLEvent } from "aws-lambda";

/** What Lambda's runtime offers to functions that stream their response. */
declare const awslambda: {
  streamifyResponse(
    handler: (
      event: LambdaFunctionURLEvent,
      stream: NodeJS.WritableStream,
      context: Context,
    ) => Promise<void>,
  ): (event: LambdaFunctionURLEvent, context: Context) => Promise<void>;
  HttpResponseStream: {
    from(
      stream: NodeJS.WritableStream,
      start: { statusCode: number; headers: Record<string, string> },
    ): NodeJS.WritableStream;
  };
};

interface Answer {
  statusCode: number;
  headers: Record<string, string>;
  body: string | AsyncIterable<string>;
}

/**
 * The handler of a function URL with response streaming: sends each piece of an answer at once. If the stream is closed, the
 * answer's loop is left. Lambda does not close it for every client that leaves.
 */
export function streamed(handle: (event: LambdaFunctionURLEvent, context: Context) => Promise<Answer>) {
  return awslambda.streamifyResponse(async (event, stream, context) => {
    const { statusCode, headers, body } = await handle(event, context);
    const out = awslambda.HttpResponseStream.from(stream, { statusCode, headers });
    await pipeline(Readable.from(typeof body === "string" ? [body] : body), out).catch((error: unknown) => {
      if (!isClosed(error)) throw error;
    });
  });
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}
